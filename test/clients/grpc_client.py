"""gRPC calls of every kind through the edge, with grpcio's defaults. Prints one JSON line for each case."""

import json
import sys
import threading

import grpc

given = json.loads(sys.stdin.readline())
SERVICE = "/test.Echo/"


def same(data):
    return data


with open(given["ca"], "rb") as file:
    credentials = grpc.ssl_channel_credentials(file.read())
channel = grpc.secure_channel(
    f"ipv4:127.0.0.1:{given['port']}",
    credentials,
    options=[
        ("grpc.ssl_target_name_override", given["host"]),
        ("grpc.default_authority", given["authority"]),
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 500),
    ],
)


def method(kind, name):
    return getattr(channel, kind)(SERVICE + name, request_serializer=same, response_deserializer=same)


unary = method("unary_unary", "Unary")
server_stream = method("unary_stream", "ServerStream")
client_stream = method("stream_unary", "ClientStream")
bidi = method("stream_stream", "Bidi")
fail = method("unary_unary", "Fail")
wait = method("unary_unary", "Wait")
endless = method("unary_stream", "Endless")
outcomes = method("unary_unary", "Outcomes")
TIMEOUT = 30


def pairs(metadata):
    return {key: value if isinstance(value, str) else list(value) for key, value in metadata}


def with_metadata():
    sent = (("x-text", "a, b"), ("x-data-bin", bytes([0, 1, 255])))
    answer, call = unary.with_call(b"metadata", metadata=sent, timeout=TIMEOUT)
    leading, trailing = pairs(call.initial_metadata()), pairs(call.trailing_metadata())
    return {"leading": {name: leading[name] for name in ("x-text", "x-data-bin")}, "trailing": trailing}


def ping_pong():
    """Sends each message after the response to the previous one has arrived."""
    arrived = threading.Semaphore(1)

    def messages():
        for number in range(5):
            arrived.acquire()
            yield b"%d" % number

    answers = []
    for answer in bidi(messages(), timeout=TIMEOUT):
        answers.append(answer.decode())
        arrived.release()
    return answers


def failing(call):
    try:
        call()
        return "no error"
    except grpc.RpcError as error:
        return [error.code().name, error.details()]


def detailed():
    try:
        fail(b"", timeout=TIMEOUT)
    except grpc.RpcError as error:
        trailing = pairs(error.trailing_metadata())
        return [error.code().name, error.details(), trailing.get("grpc-status-details-bin")]
    return "no error"


def cancelled():
    stream = endless(b"", timeout=TIMEOUT)
    first = next(stream).decode()
    stream.cancel()
    # The service records that its call was cancelled.
    return [first, failing(lambda: next(stream))[0], outcomes(b"cancelled", timeout=TIMEOUT).decode()]


def deadline():
    return [failing(lambda: wait(b"", timeout=0.5))[0], outcomes(b"deadline", timeout=TIMEOUT).decode()]


def many():
    calls = [unary.future(b"%d" % number, timeout=TIMEOUT) for number in range(100)]
    return sum(call.result() == b"%d" % number for number, call in enumerate(calls))


def large():
    data = bytes(range(256)) * (3 * 4096)
    return [len(data), unary(data, timeout=TIMEOUT) == data]


def sums():
    return client_stream((b"x" * 1000 for _ in range(500)), timeout=TIMEOUT).decode()


def flow():
    """Sends more than any window holds, one message after another."""
    return sum(len(one) for one in server_stream(b"200 50000", timeout=TIMEOUT))


def restarted():
    stream = endless(b"until", timeout=TIMEOUT)
    next(stream)
    say("restart", None)
    ends = failing(lambda: [None for _ in stream])
    sys.stdin.readline()
    return [ends, unary(b"again", timeout=TIMEOUT, wait_for_ready=True).decode()]


def say(case, value):
    print(json.dumps({"case": case, "value": value}), flush=True)


def attempt(case, run):
    try:
        say(case, run())
    except Exception as error:  # what a user would see
        say(case, {"error": f"{type(error).__name__}: {error}"})


attempt("unary", lambda: unary(b"hello", timeout=TIMEOUT).decode())
attempt("empty message", lambda: unary(b"", timeout=TIMEOUT).decode())
attempt("metadata", with_metadata)
attempt("server streaming", lambda: [one.decode() for one in server_stream(b"3 1", timeout=TIMEOUT)])
attempt("no messages", lambda: [one.decode() for one in server_stream(b"0 1", timeout=TIMEOUT)])
attempt("client streaming", sums)
attempt("bidi", ping_pong)
attempt("error status", detailed)
attempt("unknown method", lambda: failing(lambda: method("unary_unary", "Nothing")(b"", timeout=TIMEOUT)))
attempt("deadline", deadline)
attempt("cancellation", cancelled)
attempt("large messages", large)
attempt("flow control", flow)
attempt("compression", lambda: unary(b"z" * 10_000, timeout=TIMEOUT, compression=grpc.Compression.Gzip).decode() == "z" * 10_000)
attempt("many calls", many)
attempt("restarted", restarted)
