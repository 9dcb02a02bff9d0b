/**
 * The service of every contender: responds to each request head with fixed bytes, accepts or sends bulk data, streams
 * events.
 */
import { createServer } from "node:net";

/** The same amount of typical JSON, which can be compressed. */
const orders = Array.from({ length: 14 }, (_, at) => ({
  id: `ord_${(at * 7919 + 104_729).toString(36)}`,
  total: (at * 1733) % 9973,
  paid: at % 3 === 0,
  customer: `customer ${at}`,
}));
const json = JSON.stringify({ orders }).padEnd(1024, " ");
const kilobyte = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1024\r\n\r\n${json}`,
);
const block = Buffer.alloc(1 << 20, "b");

createServer({ noDelay: true }, (socket) => {
  let text = "";
  let expect = 0;
  socket.on("error", () => socket.destroy());
  socket.on("data", (bytes: Buffer) => {
    if (expect > 0) {
      expect -= bytes.length;
      if (expect <= 0) socket.write("HTTP/1.1 204 No Content\r\n\r\n");
      return;
    }
    text += bytes.toString("latin1");
    for (let end = text.indexOf("\r\n\r\n"); end >= 0; end = text.indexOf("\r\n\r\n")) {
      const head = text.slice(0, end);
      text = text.slice(end + 4);
      const bulk = /^GET \/bulk\/(\d+)/.exec(head);
      const events = /^GET \/events\/(\d+)/.exec(head);
      if (events) return void stream(Number(events[1]));
      const length = /^content-length: (\d+)/im.exec(head);
      if (bulk) return void give(Number(bulk[1]));
      if (length && Number(length[1]) > 0) {
        expect = Number(length[1]) - text.length;
        text = "";
        if (expect <= 0) socket.write("HTTP/1.1 204 No Content\r\n\r\n");
        return;
      }
      socket.write(kilobyte);
    }
  });
  /**
   * Sends an event every 50 ms, the first immediately. Each contains its sending time on the machine's monotonic clock.
   */
  const stream = (count: number): void => {
    const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let left = count;
    const next = (): void => {
      const event = `data: ${process.hrtime.bigint()} ${"some text that shrinks ".repeat(8)}\n\n`;
      const chunk = `${event.length.toString(16)}\r\n${event}\r\n`;
      left -= 1;
      socket.write(`${left === count - 1 ? head : ""}${chunk}${left === 0 ? "0\r\n\r\n" : ""}`);
      if (left === 0 || socket.destroyed) clearInterval(timer);
    };
    const timer = setInterval(next, 50);
    next();
  };
  const give = (megabytes: number): void => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${megabytes << 20}\r\n\r\n`);
    let left = megabytes;
    const more = (): void => {
      while (left > 0) {
        left -= 1;
        if (!socket.write(block)) return void socket.once("drain", more);
      }
    };
    more();
  };
}).listen(Number(process.argv[2]), "127.0.0.1");
