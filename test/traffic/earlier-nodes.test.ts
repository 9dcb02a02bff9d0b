/**
 * During an update, servers of two neighbouring versions share a database. `test/support/earlier-node.json` contains
 * the messages of version 0.1.0 about its agents: this version understands them, and sends at least as much.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { keepDirectory } from "../../src/api/edges/directory.ts";
import type { EdgeLine } from "../../src/api/edges/edges.ts";
import { openNodeDirectory } from "../../src/api/nodes/node-directory.ts";
import type { NodeDirectory } from "../../src/api/nodes/node-directory.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createAuthority } from "../../src/lib/certificates/x509.ts";
import type { PresenceFollower } from "../../src/storage/cluster/presence.ts";
import { connectAgent } from "../support/agents.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { protocols } from "../support/http-client.ts";
import { newCredential } from "../support/objects.ts";

interface Entry {
  readonly what: string;
  readonly edgeId: string;
  readonly tunnel?: { readonly id: string };
  readonly session?: { readonly id: string };
  readonly shared?: { readonly labels?: object; readonly endpoint?: object };
}

const recorded = JSON.parse(readFileSync("test/support/earlier-node.json", "utf8")) as Readonly<Record<string, Entry>>;
const { token, object: credential } = newCredential();

/** Members that `now` lacks, or has with another type. An agent's options are opaque text. */
function missing(earlier: unknown, now: unknown, path: string): string[] {
  if (typeof earlier !== typeof now) return [path];
  if (path.endsWith(".request")) return missing(JSON.parse(String(earlier)), JSON.parse(String(now)), `${path}()`);
  if (typeof earlier !== "object" || earlier === null) return [];
  const members = now as Readonly<Record<string, unknown>>;
  return Object.entries(earlier).flatMap(([name, value]) => missing(value, members[name], `${path}.${name}`));
}

describe("a server beside those of the version before", () => {
  /** Messages of this version, by id. */
  const told = new Map<string, Entry>();
  let follower: PresenceFollower;
  let nodes: NodeDirectory;
  let edge: TestEdge;

  before(async () => {
    nodes = openNodeDirectory({
      presence: {
        claim: async () => "granted",
        drop() {},
        put: (id, body) => void told.set(id, JSON.parse(body) as Entry),
        remove: (id) => void told.delete(id),
        told: async () => 0,
        refresh: async () => {},
        change: 0,
        follow: (given) => void (follower = given),
      },
      relay() {},
      heard() {},
      host: () => "127.0.0.1",
      reached: async () => [],
      isThere: async () => true,
      isRevoked: () => false,
      clock: systemClock,
    });
    const directory = keepDirectory({ lineCount: 1, nodes });
    const line: { -readonly [K in keyof EdgeLine]: EdgeLine[K] } = { edgeId: undefined, send() {} };
    const authority = await createAuthority({ commonName: "Nodes", now: Date.now() });
    const peers = { count: 1, nodes: { listen: { host: "127.0.0.1", port: 0 }, authority } };
    edge = await startTestEdge([credential], { peers }, (sent, send) => {
      line.send = send;
      directory.receive(sent, line);
    });
  });
  after(() => edge.edge.stop());

  it("a server next to the previous version serves its agents, and ignores unknown members", async () => {
    const hear = (entries: Readonly<Record<string, object>>): void =>
      follower.heard(
        Object.entries(entries).map(([id, entry]) => ({
          what: "put",
          id,
          node: "node_1",
          body: JSON.stringify(entry),
        })),
      );
    const isServed = async (): Promise<boolean[]> => {
      const answers = protocols.map((http) => edge.ask(http, { host: "shop.apps.example.com", path: "/" }));
      // The agent's server does not respond, but its name is not answered with 404.
      return (await Promise.all(answers)).map(({ status }) => status === 503);
    };
    const newer = Object.entries(recorded).map(([id, entry]) => [id, { ...entry, novelty: { is: "unknown" } }]);
    const [{ edgeId }] = Object.values(recorded) as [Entry];
    for (const entries of [recorded, { ...Object.fromEntries(newer), nv_1: { what: "novelty", edgeId } }]) {
      hear(entries);
      // After an outage all messages are sent again.
      hear(entries);
      for (const { tunnel, session } of Object.values(recorded)) {
        if (tunnel) assert.deepEqual(nodes.agents.tunnel(tunnel.id), tunnel);
        if (session) assert.deepEqual(nodes.agents.session(session.id), session);
      }
      assert.deepEqual(await isServed(), [true, true]);
      follower.heard(Object.keys(entries).map((id) => ({ what: "removed", id })));
      assert.deepEqual(await isServed(), [false, false]);
    }
  });

  it("a server next to the previous version sends at least the previous version's messages", async () => {
    const agent = await connectAgent(edge, token, 1);
    await agent.bind({ hostname: "shop.apps.example.com" });
    await agent.label({ app: "web" });
    const { edgeId = "" } = [...told.values()].find(({ what }) => what === "edge") ?? {};
    nodes.occupied(edgeId, 20_001);
    const isLabelled = ({ shared }: Entry): boolean => shared?.labels !== undefined;
    for (const [id, earlier] of Object.entries(recorded)) {
      const now = [...told.values()].find(
        (one) => one.what === earlier.what && isLabelled(one) === isLabelled(earlier),
      );
      assert.deepEqual(missing(earlier, now, id), []);
    }
    nodes.remove(edgeId);
    agent.close();
  });
});
