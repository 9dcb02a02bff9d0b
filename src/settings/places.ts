/**
 * Where the server stores its data and where clients reach it. Read by the start, which creates and prints the values,
 * and by the planes.
 */
import { hostAndPort, hostName, listenAddress, listenAddressOrOff, port } from "./kinds/address.ts";
import { directory, file } from "./kinds/file.ts";
import { namedText, oneOf } from "./kinds/text.ts";
import { httpUrl } from "./kinds/url.ts";
import { many, one, optional } from "./setting.ts";

export const placeSettings = {
  data: one("Directory for all data.", directory, { default: ".postern" }),
  database: one(
    "Database with the configuration: a SQLite file, in the data directory unless the path is absolute, or postgres://….",
    namedText("FILE|URL"),
    { default: "postern.db", secret: true },
  ),
  apiListen: one("Address of the management API.", listenAddress, { default: "127.0.0.1:4700" }),
  apiUrl: optional("Base URL of the API as clients reach it (default: the listen address).", httpUrl),
  httpsListen: one("Address for public HTTPS and TLS traffic.", listenAddress, { default: ":8443" }),
  httpsPort: optional("Port in public URLs, if a proxy or router forwards it to this server.", port, {
    shownDefault: "the listener's",
  }),
  httpListen: one(
    "Address for plain HTTP. Requests are redirected to HTTPS, except for endpoints with an `http://` URL.",
    listenAddressOrOff,
    {
      default: "off",
    },
  ),
  agentListen: one("Address for agents.", listenAddress, { default: ":4443" }),
  agentAddress: many(
    "Address at which agents reach the agent listener, such as a load balancer's; repeatable. Join codes contain the first one, by default the domain and the listener's port. The listener's certificate contains all of them.",
    hostAndPort,
  ),
  agentCa: one(
    "CA with which agents that join verify the server: `own` for the server's CA, or `system` if a proxy with a public certificate terminates TLS in front of the agent listener.",
    oneOf(["own", "system"]),
    { default: "own" },
  ),
  peerListen: one(
    "Address for edges of other servers with the same database (--cluster). With several --edges, each further edge listens on the next port.",
    listenAddress,
    { default: ":4470" },
  ),
  sshListen: one("Address for SSH clients, which publish services with `ssh -R`, such as :2222.", listenAddressOrOff, {
    default: "off",
  }),
  sshHostKey: optional(
    "File with the private key by which SSH clients know this server, of ssh-keygen or in PEM (default: a key that follows from the server's own secret, the same on every node).",
    file,
  ),
  sshHostCertificate: optional(
    "File with a certificate of the SSH host key (`-cert.pub`). Clients that trust its authority trust the server.",
    file,
  ),
  domain: one("Domain for generated names of agents.", hostName, { default: "localhost" }),
  idpHost: optional(
    "Host name to which identity providers send visitors back. No account can use this name or a name below it.",
    hostName,
    { shownDefault: "idp. and the domain" },
  ),
} as const;
