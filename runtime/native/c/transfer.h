/* Transfers: a kernel whose blocks each bring a chunk of bytes from an array to page-locked memory, or back.
 *
 * On the way to a device, whoever completes a piece has the device copy it. On the way back, a piece's chunks wait for
 * the device's event. Chunks are taken in order, whatever the numbers of the blocks. */

#ifndef TRANSFER_H
#define TRANSFER_H

#include "waiting.h"

#define NOT_READY 600 /* CUDA_ERROR_NOT_READY */

/* Of a piece on its way back: nobody knows yet whether it is there; it is; somebody is asking. */
enum { UNKNOWN, THERE, ASKED };

/* Wait until a piece is in page-locked memory; return the driver's code. */
INLINED int32_t arrival(const struct Transfer *transfer, struct Piece *piece) {
  while (LOAD(piece->state) != THERE) {
    int32_t unknown = UNKNOWN;
    if (__atomic_compare_exchange_n(&piece->state, &unknown, ASKED, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
      int32_t answer = transfer->query(piece->event);
      STORE(piece->state, answer == NOT_READY ? UNKNOWN : THERE);
      if (answer && answer != NOT_READY) return answer;
    }
    relax();
  }
  return 0;
}

/* Note that bytes of a piece are in page-locked memory, and have a complete one copied; return the driver's code. */
INLINED int32_t departure(const struct Transfer *transfer, struct Piece *piece, int64_t bytes) {
  if (SUBTRACT(piece->left, bytes) != bytes) return 0;
  const int64_t start = piece->start;
  return transfer->copy(transfer->there + start, transfer->block + start, piece->end - start, transfer->stream);
}

/* Bring the next chunk; return the driver's code. */
INLINED int32_t bring(struct Transfer *transfer) {
  const uint64_t size = transfer->size, chunk = transfer->chunk;
  const uint64_t begin = chunk * __atomic_fetch_add(&transfer->next, 1, __ATOMIC_RELAXED);
  const uint64_t end = begin + chunk < size ? begin + chunk : size;
  struct Piece *piece = transfer->piece;
  while (begin >= (uint64_t)piece->end) piece++;
  char *array = transfer->here + begin, *block = transfer->block + begin;
  if (!transfer->outward) {
    transfer->move(block, array, end - begin);
    return departure(transfer, piece, end - begin);
  }
  int32_t code = arrival(transfer, piece);
  if (!code) transfer->move(array, block, end - begin);
  return code;
}

/* The kernel's entry. */
APART int32_t transfer(void *params, const struct Launch *launch, int64_t first, int64_t last, void *status) {
  struct Transfer *transfer = params;
  int32_t code = transfer->set_context(transfer->context);
  do
    if (!code) code = bring(transfer);
  while (!code && ++first < last);
  return code;
}

#endif
