/**
 * `log-in.ts PORT CA COUNT AT_ONCE [plain]`: COUNT visitors log in at `login.localhost`, or send as many requests to
 * `bare.localhost` as their logins need. Prints the milliseconds that it took, and how many succeeded.
 */
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { request as requestHttp } from "node:http";
import type { IncomingMessage, RequestOptions } from "node:http";

const [port = 0, ca = "", count = 0, atOnce = 0, plain] = process.argv.slice(2);
/** Requests of a login to the edge: two at the host, one at the login host, and one after the login. */
const requestsOfLogin = 4;
const agent = new Agent({ keepAlive: true, maxSockets: Number(atOnce), ca: readFileSync(ca) });

function ask(url: string, cookie: string): Promise<IncomingMessage> {
  const { protocol, hostname, pathname, search, port: at } = new URL(url);
  const options: RequestOptions = {
    host: "127.0.0.1",
    port: at || port,
    path: pathname + search,
    headers: { host: `${hostname}:${at || port}`, accept: "text/html", ...(cookie !== "" && { cookie }) },
  };
  return new Promise((resolve, reject) => {
    const took = (response: IncomingMessage): void => {
      response.resume();
      response.on("end", () => resolve(response));
    };
    const sending =
      protocol === "https:"
        ? request({ ...options, agent, servername: hostname }, took)
        : requestHttp({ ...options, agent: false }, took);
    sending.on("error", reject);
    sending.end();
  });
}

async function logIn(): Promise<boolean> {
  let cookies: string[] = [];
  let url = `https://login.localhost:${port}/`;
  for (let step = 0; step < 6; step += 1) {
    const isOurs = url.startsWith("https://login.localhost");
    const { statusCode, headers } = await ask(url, isOurs ? cookies.join("; ") : "");
    if (isOurs) {
      for (const line of headers["set-cookie"] ?? []) {
        const [pair = ""] = line.split(";");
        const name = pair.slice(0, pair.indexOf("=") + 1);
        cookies = [...cookies.filter((one) => !one.startsWith(name)), pair];
      }
    }
    if (headers.location === undefined) return statusCode === 200;
    url = new URL(headers.location, url).href;
  }
  return false;
}

async function sendPlain(): Promise<boolean> {
  for (let at = 0; at < requestsOfLogin; at += 1) await ask(`https://bare.localhost:${port}/`, "");
  return true;
}

let left = Number(count);
let arrived = 0;
const began = performance.now();
await Promise.all(
  Array.from({ length: Number(atOnce) }, async () => {
    while (left > 0) {
      left -= 1;
      if (await (plain === undefined ? logIn() : sendPlain())) arrived += 1;
    }
  }),
);
process.stdout.write(`${performance.now() - began} ${arrived}\n`);
agent.destroy();
