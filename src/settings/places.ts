/**
 * Where the server keeps what it has and where it is reached. Read by the start, which makes, announces and prints
 * these, and by the planes.
 */
import { hostName, listenAddress, listenAddressOrOff, port } from "./kinds/address.ts";
import { directory } from "./kinds/file.ts";
import { named } from "./kinds/text.ts";
import { httpUrl } from "./kinds/url.ts";
import { one, optional } from "./setting.ts";

export const placeSettings = {
  data: one("Directory with everything that is kept.", directory, { default: ".postern" }),
  database: one(
    "Where the configuration is stored: a SQLite file, in the data directory unless its path is absolute, or postgres://….",
    named("FILE|URL"),
    { default: "postern.db", secret: true },
  ),
  apiListen: one("Where the management API listens.", listenAddress, { default: "127.0.0.1:4700" }),
  apiUrl: optional("The API's base URL as clients reach it (default: from where it listens).", httpUrl),
  httpsListen: one("Where public HTTPS and TLS traffic comes in.", listenAddress, { default: ":8443" }),
  httpsPort: optional("The port that public URLs name, where something in front forwards it.", port, {
    shownDefault: "the listener's",
  }),
  httpListen: one(
    "Where plain HTTP comes in: it is redirected to HTTPS, but for endpoints at http:// addresses.",
    listenAddressOrOff,
    {
      default: "off",
    },
  ),
  agentListen: one("Where agents connect.", listenAddress, { default: ":4443" }),
  peerListen: one(
    "Where edges of other servers connect that share the database (--cluster); with several --edges, each further one listens at the next port.",
    listenAddress,
    { default: ":4470" },
  ),
  domain: one("Domain under which names for agents are made up.", hostName, { default: "localhost" }),
  idpHost: optional(
    "Host that visitors come back to from identity providers. No account has it, or a name below it.",
    hostName,
    { shownDefault: "idp. and the domain" },
  ),
} as const;
