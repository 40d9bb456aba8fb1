"""Tokens of service accounts: JSON web tokens signed by this cluster, for a while, for an audience, and good
only as long as the object they are bound to exists. Issuing and reading them; whether what they name exists
is for `authenticate` to find out."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from fairway.apiserver.certificates import write_private

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
HALF: Final = 32
"""Bytes of each of the two numbers that an ES256 signature is."""
_SIGNING: Final = ec.ECDSA(hashes.SHA256())


class BadToken(Exception):
    """The token is none of ours, or not valid now, or not for us."""


class Reference(msgspec.Struct, frozen=True, omit_defaults=True):
    """An object that a token speaks of."""

    name: str
    uid: str = ""


class Identity(msgspec.Struct, frozen=True, omit_defaults=True):
    namespace: str
    serviceaccount: Reference
    pod: Reference | None = None
    secret: Reference | None = None
    node: Reference | None = None


class Claims(msgspec.Struct, frozen=True):
    aud: list[str]
    exp: int
    iat: int
    iss: str
    jti: str
    identity: Identity = msgspec.field(name="kubernetes.io")
    nbf: int
    sub: str


@dataclass(frozen=True, slots=True)
class TokenAuthority:
    """The key that signs, and what is said about it."""

    key: ec.EllipticCurvePrivateKey
    clock: Callable[[], datetime]
    issuer: str = ISSUER
    audiences: tuple[str, ...] = (ISSUER,)

    @classmethod
    def open(cls, path: Path, clock: Callable[[], datetime]) -> TokenAuthority:
        """With the key in a file, made if there is none: tokens outlive the server's process."""
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_private(path, _pem(ec.generate_private_key(ec.SECP256R1())))
        key = serialization.load_pem_private_key(path.read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        return cls(key, clock)

    @property
    def key_id(self) -> str:
        public = self.key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        digest = hashes.Hash(hashes.SHA256())
        digest.update(public)
        return _encoded(digest.finalize())

    def issue(self, identity: Identity, seconds: int, audiences: list[str]) -> str:
        now = int(self.clock().timestamp())
        claims = Claims(
            aud=audiences,
            exp=now + seconds,
            iat=now,
            iss=self.issuer,
            jti=str(uuid.uuid4()),
            identity=identity,
            nbf=now,
            sub=f"system:serviceaccount:{identity.namespace}:{identity.serviceaccount.name}",
        )
        head = {"alg": "ES256", "kid": self.key_id}
        signed = f"{_encoded(msgspec.json.encode(head))}.{_encoded(msgspec.json.encode(claims))}"
        r, s = decode_dss_signature(self.key.sign(signed.encode(), _SIGNING))
        return f"{signed}.{_encoded(r.to_bytes(HALF, 'big') + s.to_bytes(HALF, 'big'))}"

    def read(self, token: str, audiences: tuple[str, ...] = ()) -> Claims:
        """What a token says, if it is ours and valid now and for one of the audiences. Raises BadToken."""
        claims = self._verified(token)
        now = self.clock().timestamp()
        if claims.iss != self.issuer:
            raise BadToken("another issuer")
        if not set(claims.aud) & set(audiences or self.audiences):
            raise BadToken("another audience")
        if not claims.nbf - 60 <= now < claims.exp:
            raise BadToken("service account token has expired")
        return claims

    def _verified(self, token: str) -> Claims:
        signed, _, signature = token.rpartition(".")
        try:
            raw = _decoded(signature)
            if len(raw) != 2 * HALF:
                raise BadToken("another kind of signature")
            numbers = int.from_bytes(raw[:HALF], "big"), int.from_bytes(raw[HALF:], "big")
            self.key.public_key().verify(encode_dss_signature(*numbers), signed.encode(), _SIGNING)
            return msgspec.json.decode(_decoded(signed.partition(".")[2]), type=Claims)
        except (InvalidSignature, ValueError) as error:
            raise BadToken("not signed by this cluster") from error

    # -- for others who want to check tokens -------------------------------------------------------------

    def configuration(self, base: str) -> dict[str, Any]:
        """/.well-known/openid-configuration."""
        return {
            "issuer": self.issuer,
            "jwks_uri": f"{base}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        }

    def key_set(self) -> dict[str, Any]:
        """/openid/v1/jwks."""
        numbers = self.key.public_key().public_numbers()
        key = {"use": "sig", "kty": "EC", "kid": self.key_id, "crv": "P-256", "alg": "ES256"}
        place = {
            "x": _encoded(numbers.x.to_bytes(HALF, "big")),
            "y": _encoded(numbers.y.to_bytes(HALF, "big")),
        }
        return {"keys": [{**key, **place}]}


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
