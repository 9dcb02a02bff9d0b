/** SSH clients of several nodes: they connect to another node when theirs stops. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { after, before, describe, it } from "node:test";
import { freePort } from "../support/connections.ts";
import { eventually } from "../support/eventually.ts";
import { startNode } from "../support/nodes.ts";
import type { ServerNode } from "../support/nodes.ts";
import { databases } from "../support/postgres.ts";
import { skipWithout, skipWithoutPostgres } from "../support/programs.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { makeSshClients } from "../support/ssh-clients.ts";
import type { SshClient, SshClients, SshKey } from "../support/ssh-clients.ts";

const postgres = databases.find(({ name }) => name === "postgres");
const skip = skipWithoutPostgres || skipWithout("ssh", "ssh-keygen");
const domain = "t.example.com";

/** A balancer that connects each client to the first port that accepts it. */
async function startBalancer(ports: readonly number[]): Promise<Server & { readonly port: number }> {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.on("error", () => {});
    const attempt = ([port, ...others]: readonly number[]): void => {
      if (port === undefined) return void client.destroy();
      const target = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
      target.once("error", () => attempt(others));
      target.once("connect", () => {
        target.removeAllListeners("error").on("error", () => client.destroy());
        client.pipe(target).pipe(client);
        client.once("close", () => target.destroy());
      });
    };
    attempt(ports);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(server, { port: (server.address() as AddressInfo).port });
}

describe("SSH clients of two nodes", { skip, timeout: 120_000 }, () => {
  let place: Awaited<ReturnType<NonNullable<typeof postgres>["create"]>>;
  let nodes: readonly [ServerNode, ServerNode];
  let ports: readonly [number, number];
  let clients: SshClients;
  let key: SshKey;
  let service: HttpService;
  let finish: () => void = () => {};

  const start = (port: number): Promise<ServerNode> =>
    startNode(place.url, {
      POSTERN_DOMAIN: domain,
      POSTERN_DRAIN_DELAY: "2",
      POSTERN_SSH_LISTEN: `127.0.0.1:${port}`,
    });
  before(async () => {
    place = await (postgres as NonNullable<typeof postgres>).create();
    ports = [await freePort(), await freePort()];
    nodes = [await start(ports[0]), await start(ports[1])];
    clients = makeSshClients();
    key = clients.makeKey("user");
    service = await startHttpService((request, response) => {
      if (request.url === "/slow") finish = () => response.end("late");
      else response.end("served");
    });
    await nodes[0].call("POST", "/ssh_credentials", { public_key: key.line });
  });
  after(async () => {
    await clients?.stop();
    await service?.stop();
    await Promise.all((nodes ?? []).map((node) => node.end()));
    await place?.drop();
  });

  const publish = (port: number, name: string, ...words: readonly string[]): SshClient =>
    clients.openssh(port, key, "-R", `${name}:80:127.0.0.1:${service.port}`, "127.0.0.1", ...words);
  const ask = (name: string, path = "/") => nodes[1].ask("h1", { host: `${name}.${domain}`, path });
  const served = (name: string) =>
    eventually(
      () => ask(name).catch(() => undefined),
      (answer) => answer?.status === 200,
    );

  it("SSH clients finish their requests, read why they end, and reach another node when theirs stops", async () => {
    const balancer = await startBalancer(ports);
    const published = [publish(balancer.port, "looped")];
    const [first] = published as [SshClient];
    await first.says("looped");
    // A supervisor starts the client again.
    const again = first.ended.then(async () => {
      const second = publish(balancer.port, "looped");
      published.push(second);
      await second.says("looped");
    });
    await served("looped");
    // The same name at both nodes: a pair of clients that share it.
    const pair = ports.map((port) => publish(port, "paired", "http", "--pooling"));
    for (const one of pair) await one.says("paired");
    const arrived = once(service.server, "request");
    const slow = ask("looped", "/slow");
    await arrived;
    const stopping = new AbortController();
    const statuses: number[] = [];
    const visits = (async () => {
      while (!stopping.signal.aborted) statuses.push((await ask("paired")).status);
    })();
    const stopped = nodes[0].end();
    await first.says("The server is stopping.");
    finish();
    assert.equal((await slow).text, "late");
    await again;
    await served("looped");
    await stopped;
    stopping.abort();
    await visits;
    assert.notEqual(await first.ended, 0);
    assert.match(first.stderr, /the server is stopping: connect again to reach another one/);
    assert.ok(statuses.length > 20);
    assert.deepEqual(
      statuses.filter((status) => status !== 200),
      [],
    );
    balancer.close();
  });
});
