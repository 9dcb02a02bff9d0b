/**
 * What Postern uses of `node:http`. An `import` of a built-in module reads all of its exports at once, and some of
 * those of `node:http` load a whole WebSocket client: longer than most of our own rooms together take, in each thread.
 */
export const { Agent, createServer, request, STATUS_CODES } = process.getBuiltinModule("node:http");
