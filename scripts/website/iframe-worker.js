// Browsers refuse workers to pages that are read from a folder (file://), and the search runs in one. There, a hidden
// frame takes the worker's place: its script runs in the frame, and gets and sends the same messages. The search looks
// for this class by its name.
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.waiting = [];
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    this.frame.srcdoc =
      "<script>postMessage = message => parent.postMessage(message, '*');</script>" +
      `<script src="${new URL(url, document.baseURI)}"></script>`;
    this.frame.addEventListener("load", () => {
      for (const message of this.waiting.splice(0)) this.send(message);
      this.loaded = true;
    });
    addEventListener("message", event => {
      if (event.source === this.frame.contentWindow)
        this.dispatchEvent(new MessageEvent("message", { data: event.data }));
    });
    document.body.appendChild(this.frame);
  }

  postMessage(message) {
    if (this.loaded) this.send(message);
    else this.waiting.push(message);
  }

  send(message) {
    this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: message }));
  }
}

if (location.protocol === "file:") {
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
