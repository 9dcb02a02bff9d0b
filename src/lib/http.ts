/**
 * The exports of `node:http` that Postern uses. An `import` of a built-in module reads all of its exports, and some of
 * those of `node:http` load a whole WebSocket client. In each thread, that takes longer than loading most of our own
 * code.
 */
export const { Agent, createServer, IncomingMessage, request, STATUS_CODES } = process.getBuiltinModule("node:http");
