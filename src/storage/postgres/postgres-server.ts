/**
 * Locates PostgreSQL: one server, or several servers of which one accepts writes. Every connection resolves the URL
 * again, so failovers, renewed certificates and changed passwords take effect without a restart (S4).
 */
import { readFile } from "node:fs/promises";
import { Client, types } from "pg";
import type { ClientConfig, Pool } from "pg";

const int8 = 20;
const limits = { connectionTimeoutMillis: 3000, query_timeout: 30_000, keepAlive: true } as const;
/** Time after which the next server is tried as well, if there are several, milliseconds. */
const nextPlaceMs = 500;
/** Time for the first answer of a connected server, milliseconds. */
const checkMs = 2_000;
/** Time for a statement while the server serves: with a new connection, callers of the API get an answer within 10 s. */
const servingTimeoutMs = 5000;
/** Time for all statements of a write together, including new connections. */
const patienceMs = 8000;

/** Bounds for one statement. */
export interface StatementBounds {
  /** Milliseconds; absent: as the connection has it. */
  readonly query_timeout?: number;
}

export interface Server {
  /**
   * Connects to the server that accepts writes. The caller closes the connection.
   * @throws Error with the reason why no server was usable
   */
  connect(name: string, broken: (client: Client, error: Error) => void): Promise<Client>;
  /** Returns options for a pool of connections to the server that `connect` found last. */
  poolOptions(name: string): ClientConfig;
  /** Makes new connections of the pool use the server that `connect` finds, from now on. */
  follow(pool: Pool): void;
  /** Statements that callers wait for are bounded from now on, unless the URL has a `query_timeout`. */
  beginServing(): void;
  bounds(): StatementBounds;
  /** See `Database.patienceMs`. */
  patienceMs(): number | undefined;
}

/** @throws Error if the URL cannot be parsed; its text never contains what may be a password */
export function serverAt(url: string): Server {
  const places = placesOf(url);
  const passfile = parseUrl(places[0] as string).searchParams.get("passfile");
  const pools: Pool[] = [];
  let current = 0;
  let passwords = "";
  let bounds: StatementBounds = {};
  const urlOf = (place: string): string => (passfile === null ? place : withPassword(place, passwords));
  const optionsFor = (place: string, name: string): ClientConfig => ({
    connectionString: urlOf(place),
    application_name: name,
    ...limits,
    ...bounds,
    types: {
      // Revisions and times stay far below 2⁵³.
      getTypeParser: ((oid: number, format: "text") =>
        oid === int8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
    },
  });
  const found = (at: number): void => {
    current = at;
    for (const pool of pools) pool.options.connectionString = urlOf(places[at] as string);
  };
  return {
    async connect(name, broken) {
      if (passfile !== null) passwords = await readPasswords(passfile);
      const order = places.map((_place, tried) => (current + tried) % places.length);
      const { at, client } = await firstWritable(
        order.map((at) => ({
          name: nameOf(places[at] as string),
          at,
          options: optionsFor(places[at] as string, name),
        })),
        broken,
      );
      found(at);
      return client;
    },
    poolOptions: (name) => optionsFor(places[current] as string, name),
    follow: (pool) => void pools.push(pool),
    beginServing() {
      if (!parseUrl(places[0] as string).searchParams.has("query_timeout"))
        bounds = { query_timeout: servingTimeoutMs };
    },
    bounds: () => bounds,
    patienceMs: () => (bounds.query_timeout === undefined ? undefined : patienceMs),
  };
}

interface HostOption {
  readonly name: string;
  readonly at: number;
  readonly options: ClientConfig;
}

/**
 * Connects to the first server that accepts writes. Tries the next server when one has failed, or does not answer soon. So
 * several servers out of reach take hardly longer than one.
 * @throws Error with the reason of each server
 */
async function firstWritable(
  places: readonly HostOption[],
  broken: (client: Client, error: Error) => void,
): Promise<{ readonly at: number; readonly client: Client }> {
  const found = Promise.withResolvers<{ readonly at: number; readonly client: Client }>();
  const failures = new Map<HostOption, Error>();
  const clients = new Set<Client>();
  let tried = 0;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const tryNext = (): void => {
    clearTimeout(timer);
    const place = places[tried];
    if (isOver || !place) return;
    tried += 1;
    timer = setTimeout(tryNext, nextPlaceMs);
    const client = new Client(place.options);
    clients.add(client);
    client.on("error", (error) => broken(client, error));
    client.on("end", () => broken(client, new Error("the server closed the connection")));
    tryPlace(client).then(
      () => {
        clients.delete(client);
        if (isOver) return client.end().catch(() => undefined);
        isOver = true;
        clearTimeout(timer);
        for (const other of clients) other.end().catch(() => undefined);
        found.resolve({ at: place.at, client });
        return undefined;
      },
      (error: unknown) => {
        clients.delete(client);
        client.end().catch(() => undefined);
        failures.set(place, error as Error);
        if (failures.size === places.length) found.reject(failureOf(places, failures));
        else tryNext();
      },
    );
  };
  tryNext();
  return await found.promise;
}

async function tryPlace(client: Client): Promise<void> {
  await client.connect();
  await checkWritable(client);
}

function failureOf(places: readonly HostOption[], failures: ReadonlyMap<HostOption, Error>): Error {
  const [first] = places;
  if (places.length === 1 && first) return failures.get(first) as Error;
  return new Error(places.map((place) => `${place.name}: ${describeError(failures.get(place))}`).join("; "));
}

/** Returns a short text for an error of the network or the server. */
export function describeError(error: unknown): string {
  const { message, code = "no answer" } = error as NodeJS.ErrnoException;
  return message || code;
}

/** Returns one URL per server: `postgres://a:1,b:2/name` names two servers, as in PostgreSQL's own clients. */
function placesOf(url: string): readonly string[] {
  const [, scheme, credentials = "", hosts, rest] = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#]*)(.*)$/s.exec(url) ?? [];
  if (scheme === undefined || hosts === undefined)
    throw new Error("read database: its URL must begin with postgres://");
  if (hosts === "") return [url];
  return hosts.split(",").map((host) => {
    const place = `${scheme}${credentials}${host}${rest ?? ""}`;
    if (URL.canParse(place)) return place;
    throw new Error(
      "read database: its URL is invalid; write characters such as / or @ in a user or password as %2F and %40",
    );
  });
}

/** Accepts a URL without a host, for which the driver has a default. */
function parseUrl(place: string): URL {
  return new URL(place.replace("@/", "@localhost/"));
}

function nameOf(place: string): string {
  return parseUrl(place).host || "local server";
}

async function checkWritable(client: Client): Promise<void> {
  const asked = { text: "select pg_is_in_recovery() as standby", query_timeout: checkMs };
  const { rows } = await client.query<{ standby: boolean }>(asked);
  if (rows[0]?.standby) throw new Error("use database: the server is a standby and accepts no writes");
}

async function readPasswords(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new Error(`read passwords of the database: "${file}", which its URL names, cannot be read`, { cause: error });
  }
}

/**
 * Returns the URL with the first matching password of the file. Lines are HOST:PORT:DATABASE:USER:PASSWORD, where `*`
 * matches anything.
 */
function withPassword(place: string, passwords: string): string {
  const url = parseUrl(place);
  const wanted = [
    url.searchParams.get("host") ?? (url.hostname || "localhost"),
    url.port || "5432",
    decodeURIComponent(url.pathname.slice(1)),
    decodeURIComponent(url.username),
  ];
  for (const line of passwords.split("\n")) {
    if (line.startsWith("#")) continue;
    const fields = line.match(/(?:\\.|[^:\\])+/g)?.map((one) => one.replaceAll(/\\(.)/g, "$1")) ?? [];
    const password = fields[wanted.length];
    if (password === undefined || !wanted.every((one, index) => fields[index] === "*" || fields[index] === one))
      continue;
    url.password = encodeURIComponent(password);
    return url.href;
  }
  return place;
}
