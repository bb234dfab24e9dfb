"""An authority of a test's own, and certificates that it signed."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest


class Authority:
    """A certificate authority. file: its certificate (PEM)."""

    def __init__(self, folder: Path) -> None:
        pytest.importorskip("cryptography", reason="needs cryptography, of the remote extra")
        from cryptography.hazmat.primitives.asymmetric import ec

        self._folder, self._key = folder, ec.generate_private_key(ec.SECP256R1())
        self._name = _name("gridjit's tests")
        self.file = folder / "authority.pem"
        self.file.write_bytes(_pem(self._signed(self._name, self._key, [])))

    def certificate(self, host: str, **key_options: Any) -> Path:
        """Return a file with a host's certificate and key (PEM), made now."""
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.DNSName(host)])
        file = self._folder / f"{host}-{len([*self._folder.iterdir()])}.pem"
        file.write_bytes(_pem(self._signed(_name(host), key, [names])) + _key_pem(key, **key_options))
        return file

    def _signed(self, subject: Any, key: Any, extensions: list[Any]) -> Any:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes

        now = datetime.datetime.now(datetime.timezone.utc)
        made = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key.public_key())
        made = made.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
        made = made.not_valid_after(now + datetime.timedelta(hours=1))
        for extension in [*self._usual(x509, key, is_authority=not extensions), *extensions]:
            made = made.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints | x509.KeyUsage))
        return made.sign(self._key, hashes.SHA256())

    def _usual(self, x509: Any, key: Any, *, is_authority: bool) -> list[Any]:
        """Return the extensions that Python 3.13 and newer ask for."""
        kinds = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
        uses = dict.fromkeys((*kinds, "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"), False)
        uses |= {"digital_signature": True, "key_cert_sign": is_authority, "crl_sign": is_authority}
        return [
            x509.BasicConstraints(ca=is_authority, path_length=None),
            x509.KeyUsage(**uses),
            x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
        ]


def _name(text: str) -> Any:
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _pem(certificate: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return bytes(certificate.public_bytes(Encoding.PEM))


def _key_pem(key: Any, password: bytes | None = None) -> bytes:
    from cryptography.hazmat.primitives import serialization as forms

    how = forms.NoEncryption() if password is None else forms.BestAvailableEncryption(password)
    return bytes(key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, how))
