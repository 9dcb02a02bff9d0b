"""Python's HTTP clients against one URL, each with its own defaults.

Reads one JSON line {"client", "url", "ca"} and prints one JSON line for each case: its name, and what the client saw.
A line {"case": "restart"} is followed by a wait for one line of input.
"""

import asyncio
import contextlib
import hashlib
import http.client
import json
import os
import socket
import ssl
import sys
import threading
import urllib.parse

given = json.loads(sys.stdin.readline())
URL = given["url"]
PARTS = urllib.parse.urlsplit(URL)


def new_context():
    return ssl.create_default_context(cafile=given["ca"])


CONTEXT = new_context()
LARGE = 3 * 1024 * 1024

# Every name resolves to the edge without a name server.
real_getaddrinfo = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **more: real_getaddrinfo("127.0.0.1", *rest, **more)

# Counts connections at the start of their TLS.
connections = 0
for name in ("wrap_socket", "wrap_bio"):
    def counting(self, *args, wrapped=getattr(ssl.SSLContext, name), **more):
        global connections
        connections += 1
        return wrapped(self, *args, **more)

    setattr(ssl.SSLContext, name, counting)


def release():
    """Makes the service send its next part, through a connection of another client."""
    connection = http.client.HTTPSConnection(PARTS.hostname, PARTS.port, context=new_context())
    connection.request("POST", "/release")
    connection.getresponse().read()
    connection.close()


def parts():
    for number in range(5):
        yield f"part {number};".encode()


class Requests:
    def __init__(self):
        import requests

        self.session = requests.Session()
        self.session.verify = given["ca"]

    def send(self, method, path, body=None, headers={}, follow=True):
        answer = self.session.request(
            method, URL + path, data=body, headers=headers, allow_redirects=follow, timeout=30
        )
        return answer.status_code, answer.headers, answer.content

    def stream(self, path):
        with self.session.get(URL + path, stream=True, timeout=30) as answer:
            for chunk in answer.iter_content(None):
                yield chunk

    def cookies(self):
        return sorted(f"{one.name}={one.value}" for one in self.session.cookies)


class Httpx:
    def __init__(self, http2):
        import httpx

        self.client = httpx.Client(http1=not http2, http2=http2, verify=CONTEXT, timeout=30)

    def send(self, method, path, body=None, headers={}, follow=True):
        answer = self.client.request(
            method, URL + path, content=body, headers=headers, follow_redirects=follow
        )
        return answer.status_code, answer.headers, answer.content

    def stream(self, path):
        with self.client.stream("GET", URL + path) as answer:
            yield from answer.iter_raw()

    def cookies(self):
        return sorted(f"{name}={value}" for name, value in self.client.cookies.items())


class HttpClient:
    """The standard library, without redirects and cookies."""

    def __init__(self):
        self.connection = http.client.HTTPSConnection(
            PARTS.hostname, PARTS.port, context=CONTEXT, timeout=30
        )

    def send(self, method, path, body=None, headers={}, follow=True):
        chunked = body is not None and not isinstance(body, bytes)
        self.connection.request(method, path, body=body, headers=headers, encode_chunked=chunked)
        answer = self.connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def stream(self, path):
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        while chunk := answer.read1():
            yield chunk


class Aiohttp:
    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.session = self.run(self.open())

    async def open(self):
        import aiohttp

        connector = aiohttp.TCPConnector(ssl=CONTEXT)
        return aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=30))

    def run(self, task):
        return self.loop.run_until_complete(task)

    def send(self, method, path, body=None, headers={}, follow=True):
        return self.run(self.request(method, path, body, headers, follow))

    async def request(self, method, path, body, headers, follow):
        if body is not None and not isinstance(body, bytes):
            body = as_async(body)
        # This client sends the body only after the interim response.
        waits = headers.get("expect") == "100-continue"
        rest = {name: value for name, value in headers.items() if name != "expect"}
        call = self.session.request(
            method, URL + path, data=body, headers=rest, allow_redirects=follow, expect100=waits
        )
        async with call as answer:
            return answer.status, answer.headers, await answer.read()

    def stream(self, path):
        answer = self.run(self.session.get(URL + path).__aenter__())
        while chunk := self.run(answer.content.readany()):
            yield chunk

    def cookies(self):
        return sorted(f"{one.key}={one.value}" for one in self.session.cookie_jar)

    def websocket(self):
        return self.run(self.talk())

    async def talk(self):
        import aiohttp

        address = URL.replace("https://", "wss://") + "/socket"
        async with self.session.ws_connect(address, protocols=("chat",)) as line:
            await line.send_str("hello")
            text = (await line.receive()).data
            await line.send_bytes(b"x" * 100_000)
            binary = len((await line.receive()).data)
            await line.ping()
            await line.send_str("close")
            last = await line.receive()
            closes = last.type == aiohttp.WSMsgType.CLOSE
            return {"text": text, "binary": binary, "protocol": line.protocol, "closes": closes, "code": last.data}


async def as_async(items):
    for item in items:
        yield item


def seen(answer):
    status, headers, body = answer
    return {"status": status, "body": body.decode("latin-1")[:2000], "type": headers.get("content-type")}


def digest(data):
    return hashlib.sha256(data).hexdigest()


def refused(client):
    """Uploads that the service or a rule of the edge rejects before they end. The client must receive each response."""
    headers = [{}, {"x-refuse": "1"}] * 3
    return [client.send("POST", "/refused", b"x" * LARGE, one)[0] for one in headers]


def streamed(client):
    """Releases each part after the previous one has arrived. A buffer anywhere would wait forever."""
    text = b""
    ends = 0
    for chunk in client.stream("/stream"):
        text += chunk
        while ends < text.count(b"\n"):
            ends += 1
            if ends < 3:
                release()
    return text.decode()


def reused(client):
    client.send("GET", "/")
    before = connections
    statuses = {client.send("GET", f"/?{number}")[0] for number in range(20)}
    return {"statuses": sorted(statuses), "connections": connections - before}


def restarted(client):
    """Restarts the server during a response. Then the same client and a new client each send a request."""
    say("restart", None)
    outcomes = [tried(client, "/slow")]
    sys.stdin.readline()
    return outcomes + [tried(client, "/after"), tried(makers[given["client"]](), "/again")]


def tried(client, path):
    try:
        return seen(client.send("GET", path))["body"]
    except Exception as error:
        return type(error).__name__


def large(client):
    body = os.urandom(LARGE)
    status, _, text = client.send("PUT", "/digest", body)
    answer = client.send("GET", f"/bytes?count={LARGE}")[2]
    return {"status": status, "sent": text.decode() == digest(body), "received": len(answer)}


def methods(client):
    names = ["GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "PROPFIND"]
    return [client.send(name, "/echo")[0] for name in names]


def say(case, value):
    print(json.dumps({"case": case, "value": value}), flush=True)


def attempt(case, run):
    try:
        say(case, run())
    except Exception as error:  # what a user would see
        say(case, {"error": f"{type(error).__name__}: {error}"})


makers = {
    "requests": Requests,
    "httpx over HTTP/1.1": lambda: Httpx(False),
    "httpx over HTTP/2": lambda: Httpx(True),
    "aiohttp": Aiohttp,
    "http.client": HttpClient,
}
client = makers[given["client"]]()

attempt("empty body", lambda: seen(client.send("POST", "/echo", b"")))
attempt("length of zero", lambda: seen(client.send("POST", "/echo", None, {"content-length": "0"})))
attempt("body in chunks", lambda: seen(client.send("POST", "/echo", parts())))
attempt("expect", lambda: seen(client.send("POST", "/echo", b"expected", {"expect": "100-continue"})))
attempt("refused uploads", lambda: refused(client))
attempt("trailers", lambda: [seen(client.send("GET", "/trailers")), seen(client.send("GET", "/echo"))])
attempt("stream", lambda: streamed(client))
attempt("no content", lambda: [seen(client.send("GET", "/nothing"))["status"], seen(client.send("GET", "/same"))["status"]])
attempt("methods", lambda: methods(client))
attempt("compressed", lambda: client.send("GET", "/gzip")[2].decode("latin-1"))
attempt("large bodies", lambda: large(client))
attempt("path", lambda: seen(client.send("GET", "/a%2Fb/c?d=%20e")))
attempt("redirects", lambda: [seen(client.send("POST", f"/redirect?{status}", b"kept")) for status in (302, 303, 307, 308)])
if hasattr(client, "cookies"):
    attempt("cookies", lambda: [client.send("GET", "/cookies")[0], client.cookies(), seen(client.send("GET", "/cookie"))["body"]])
if hasattr(client, "websocket"):
    attempt("WebSocket", client.websocket)
attempt("reuse", lambda: reused(client))
attempt("restarted", lambda: restarted(client))
