import { Agent, request } from "node:http";
import { apiKey } from "./postern.ts";

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Sends one API request. Throws if it fails. */
export function api<T>(base: string, method: string, path: string, body?: unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      authorization: `Bearer ${apiKey}`,
      "service-version": "2",
      ...(text && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
    };
    const sending = request(`${base}${path}`, { method, headers, agent }, (response) => {
      let answer = "";
      response.on("data", (bytes: Buffer) => (answer += bytes.toString()));
      response.on("end", () => {
        if ((response.statusCode ?? 500) >= 300)
          reject(new Error(`${method} ${path}: ${response.statusCode} ${answer}`));
        else resolve((answer === "" ? undefined : JSON.parse(answer)) as T);
      });
    });
    sending.on("error", reject);
    sending.end(text);
  });
}

/** Runs `work` for 0 … count−1, at most 64 at a time. */
export async function many(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: 64 }, async () => {
      while (next < count) await work(next++);
    }),
  );
}
