"""A gRPC service on a free loopback port. It prints the port, and ends when its standard input ends."""

import queue
import sys
import threading
from concurrent import futures

import grpc

ended = {"cancelled": queue.Queue(), "deadline": queue.Queue()}
WAIT = 20


def noting(context, name):
    """Records the end of the call on the service's side, under the name that the client requests."""
    context.add_callback(lambda: ended[name].put("over"))


def unary(request, context):
    metadata = {item.key: item.value for item in context.invocation_metadata()}
    if request == b"metadata":
        context.send_initial_metadata((("x-text", metadata["x-text"]), ("x-data-bin", metadata["x-data-bin"])))
        context.set_trailing_metadata((("x-last", "1"), ("x-last-bin", metadata["x-data-bin"])))
    return request


def server_stream(request, context):
    count, size = map(int, request.split())
    for number in range(count):
        yield b"%d" % number if size == 1 else b"x" * size


def client_stream(requests, context):
    return b"%d" % sum(len(one) for one in requests)


def bidi(requests, context):
    for request in requests:
        yield b"got " + request


def fail(request, context):
    context.set_trailing_metadata((("grpc-status-details-bin", bytes([8, 9, 200])),))
    context.abort(grpc.StatusCode.FAILED_PRECONDITION, "no, 100 % naïve")


def wait(request, context):
    over = threading.Event()
    noting(context, "deadline")
    context.add_callback(over.set)
    over.wait(WAIT)
    return b""


def endless(request, context):
    over = threading.Event()
    if request == b"":
        noting(context, "cancelled")
    context.add_callback(over.set)
    yield b"first"
    over.wait(WAIT)


def outcomes(request, context):
    try:
        return ended[request.decode()].get(timeout=WAIT).encode()
    except queue.Empty:
        return b"still running"


kinds = {
    "Unary": grpc.unary_unary_rpc_method_handler(unary),
    "ServerStream": grpc.unary_stream_rpc_method_handler(server_stream),
    "ClientStream": grpc.stream_unary_rpc_method_handler(client_stream),
    "Bidi": grpc.stream_stream_rpc_method_handler(bidi),
    "Fail": grpc.unary_unary_rpc_method_handler(fail),
    "Wait": grpc.unary_unary_rpc_method_handler(wait),
    "Endless": grpc.unary_stream_rpc_method_handler(endless),
    "Outcomes": grpc.unary_unary_rpc_method_handler(outcomes),
}
server = grpc.server(
    futures.ThreadPoolExecutor(max_workers=120),
    options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)],
)
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Echo", kinds),))
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
sys.stdin.read()
server.stop(None)
