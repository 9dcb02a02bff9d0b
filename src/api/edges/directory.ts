/**
 * Which edge has which session and tunnel: told to every other edge, so that a visitor of any reaches the agents of all.
 * Claims of names are decided here, one after another. Its sources are the lines to the edges of this process.
 */
import type { Claim, DirectoryNews, SharedTunnel } from "../../routing/planes/directory.ts";
import type { SessionReport, Upward } from "../../routing/planes/messages.ts";
import type { EdgeLine, EdgeObserver } from "./edges.ts";
import { makeNameClaims } from "./name-claims.ts";
import { trackPublications } from "./publications.ts";

/** What one edge has. */
interface Holding {
  readonly edgeId: string;
  readonly address: string;
  readonly sessions: Map<string, SessionReport>;
  readonly tunnels: Map<string, SharedTunnel>;
  /** It has told everything that it had when it said hello. */
  isTold: boolean;
}

/** @param lineCount how many edges there are to be: the rest of a crash is cleared away once all are there again */
export function keepDirectory(lineCount: number): EdgeObserver {
  const holdings = new Map<EdgeLine, Holding>();
  const lineOfTunnel = new Map<string, EdgeLine>();
  const lineOfSession = new Map<string, EdgeLine>();
  const claims = makeNameClaims();
  const publications = trackPublications();

  const tell = (news: DirectoryNews, from: EdgeLine): void => {
    for (const line of holdings.keys()) if (line !== from) publications.send(line, [news]);
  };
  /** Which edges there are; while some of them are still to come, nobody knows. */
  const tellEdges = (): void => {
    const all = [...holdings.values()];
    if (all.length < lineCount || !all.every(({ isTold }) => isTold)) return;
    for (const [line, { edgeId }] of holdings) {
      const edgeIds = all.flatMap((one) => (one.edgeId === edgeId ? [] : [one.edgeId]));
      publications.send(line, [{ what: "edges", edgeIds }]);
    }
  };
  const closeTunnel = (id: string, line: EdgeLine, holding: Holding, finishes = false): void => {
    const tunnel = holding.tunnels.get(id);
    if (!tunnel) return;
    holding.tunnels.delete(id);
    if (tunnel.endpoint) claims.release(tunnel.endpoint.name, id, line);
    if (lineOfTunnel.get(id) === line) lineOfTunnel.delete(id);
    tell({ what: "tunnel_closed", edgeId: holding.edgeId, tunnelId: id, finishes }, line);
  };
  const closeSession = (id: string, line: EdgeLine, holding: Holding): void => {
    if (!holding.sessions.delete(id)) return;
    if (lineOfSession.get(id) === line) lineOfSession.delete(id);
    tell({ what: "session_closed", edgeId: holding.edgeId, sessionId: id }, line);
  };
  const leave = (line: EdgeLine): void => {
    const holding = holdings.get(line);
    if (!holding) return;
    for (const id of holding.tunnels.keys()) closeTunnel(id, line, holding);
    for (const id of holding.sessions.keys()) closeSession(id, line, holding);
    holdings.delete(line);
    claims.leave(line);
    publications.leave(line);
  };
  const join = (edgeId: string, address: string, line: EdgeLine): void => {
    leave(line);
    const news = [...holdings.values()].flatMap(newsOf);
    holdings.set(line, { edgeId, address, sessions: new Map(), tunnels: new Map(), isTold: false });
    publications.send(line, news);
    tell({ what: "edge", edgeId, address }, line);
  };
  const openSession = (session: SessionReport, line: EdgeLine, holding: Holding): void => {
    const before = lineOfSession.get(session.id);
    lineOfSession.set(session.id, line);
    holding.sessions.set(session.id, session);
    if (before && before !== line) before.send({ type: "session_taken", sessionId: session.id });
    tell({ what: "session", edgeId: holding.edgeId, session }, line);
  };
  const openTunnel = (tunnel: SharedTunnel, line: EdgeLine, holding: Holding): void => {
    const { id, endpoint } = tunnel;
    const before = lineOfTunnel.get(id);
    if (before && before !== line) before.send({ type: "tunnel_taken", tunnelId: id, moved: true });
    lineOfTunnel.set(id, line);
    const former = holding.tunnels.get(id)?.endpoint;
    if (former && former.name !== endpoint?.name) claims.release(former.name, id, line);
    holding.tunnels.set(id, tunnel);
    if (endpoint) {
      const { accountId } = tunnel;
      const made = claims.open(endpoint.name, { tunnelId: id, accountId, pool: endpoint.pool, line });
      for (const one of made) one.line.send({ type: "tunnel_taken", tunnelId: one.tunnelId, moved: false });
    }
    tell({ what: "tunnel", edgeId: holding.edgeId, tunnel }, line);
    const others = [...holdings.keys()].filter((one) => one !== line);
    publications.afterwards(others, () => line.send({ type: "published", tunnelId: id }));
    claims.settle(endpoint?.name);
  };
  const claim = (call: number, wanted: Claim, line: EdgeLine): void =>
    claims.claim(wanted, line, (answer) => line.send({ type: "claimed", call, answer }));

  return {
    receive(message: Upward, line) {
      if (message.type === "hello") {
        if (message.peerAddress !== undefined) join(message.edgeId, message.peerAddress, line);
        return;
      }
      const holding = holdings.get(line);
      if (!holding) return;
      switch (message.type) {
        case "gone":
          leave(line);
          // What it had is told to be over; that it is gone, once another is there in its place.
          return;
        case "told":
          holding.isTold = true;
          tell({ what: "told", edgeId: holding.edgeId }, line);
          tellEdges();
          return;
        case "session_opened":
          openSession(message.session, line, holding);
          return;
        case "session_closed":
          closeSession(message.sessionId, line, holding);
          return;
        case "tunnel_opened":
          if (message.shared) openTunnel(message.shared, line, holding);
          return;
        case "tunnel_closed":
          closeTunnel(message.tunnelId, line, holding, message.finishes);
          return;
        case "claim":
          claim(message.call, message.claim, line);
          return;
        case "port_occupied":
          tell({ what: "port_occupied", edgeId: holding.edgeId, port: message.port }, line);
          return;
        case "directory_taken":
          publications.taken(line, message.number);
          return;
        case "claim_dropped":
          claims.drop(message.tunnelId, line);
      }
    },
  };
}

function newsOf({ edgeId, address, sessions, tunnels, isTold }: Holding): DirectoryNews[] {
  return [
    { what: "edge", edgeId, address },
    ...Array.from(sessions.values(), (session) => ({ what: "session" as const, edgeId, session })),
    ...Array.from(tunnels.values(), (tunnel) => ({ what: "tunnel" as const, edgeId, tunnel })),
    ...(isTold ? [{ what: "told" as const, edgeId }] : []),
  ];
}
