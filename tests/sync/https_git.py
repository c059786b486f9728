"""Git over https as hosts serve it: `git http-backend` behind a small server with a certificate and a password."""

from __future__ import annotations

import base64
import contextlib
import datetime
import ipaddress
import os
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LOGIN = "ana:s3cret"


@contextmanager
def https_git(base: Path, folder: Path) -> Iterator[tuple[int, Path]]:
    """Its port, and the certificate to trust. Everything needs LOGIN."""
    folder.mkdir()
    certificate = _certificate(folder)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def log_message(self, *_: object) -> None:
            pass

        def finish(self) -> None:
            super().finish()
            with contextlib.suppress(OSError):
                self.connection.unwrap()  # type: ignore[attr-defined]  # ends TLS in order

        def _answer(self) -> None:
            expected = f"Basic {base64.b64encode(LOGIN.encode()).decode()}"
            if self.headers.get("Authorization") != expected:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.end_headers()
                return
            head, _, body = _backend(self, base).partition(b"\r\n\r\n")
            status = next(
                (line[8:] for line in head.split(b"\r\n") if line.startswith(b"Status: ")), b"200 OK"
            )
            self.wfile.write(b"HTTP/1.0 " + status + b"\r\n" + head + b"\r\n\r\n" + body)

        do_GET = do_POST = _answer

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], certificate
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _backend(request: BaseHTTPRequestHandler, base: Path) -> bytes:
    path, _, query = request.path.partition("?")
    headers = request.headers
    env = {
        "PATH": os.environ["PATH"],
        "GIT_PROJECT_ROOT": str(base),
        "GIT_HTTP_EXPORT_ALL": "1",
        "REMOTE_USER": "ana",
        "REQUEST_METHOD": request.command,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": headers.get("Content-Type", ""),
        "HTTP_CONTENT_ENCODING": headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": headers.get("Git-Protocol", ""),
    }
    body = _body(request)
    command = ["git", "http-backend"]
    return subprocess.run(
        command, env=env, input=body, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    ).stdout


def _body(request: BaseHTTPRequestHandler) -> bytes:
    if request.headers.get("Transfer-Encoding") != "chunked":
        return request.rfile.read(int(request.headers.get("Content-Length") or 0))
    body = b""
    while size := int(request.rfile.readline(), 16):
        body += request.rfile.read(size)
        request.rfile.readline()
    return body


def _certificate(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=7))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    encoding, private = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path.write_bytes(
        key.private_bytes(encoding, private, serialization.NoEncryption())
        + certificate.public_bytes(encoding)
    )
    return path
