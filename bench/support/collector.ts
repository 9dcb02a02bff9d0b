/** `node collector.ts PORT`: an OpenTelemetry collector that accepts everything. */
import { createServer } from "node:http";

createServer((request, response) => {
  request.resume();
  request.on("end", () => response.writeHead(200, { "content-type": "application/x-protobuf" }).end());
}).listen(Number(process.argv[2]), "127.0.0.1");
