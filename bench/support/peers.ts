/**
 * The peers: nginx, HAProxy and Caddy with TLS termination and a proxy but no tunnel, and OpenSSH's `-R` as a plain
 * tunnel.
 */
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSelfSigned } from "../../src/lib/certificates/x509.ts";
import type { KeyedCertificate } from "../../src/lib/certificates/x509.ts";
import { freePort, listening, run, start } from "./system.ts";

export interface Peer {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly port: number;
}

const directory = mkdtempSync(join(tmpdir(), "postern-peers-"));

/** Creates a self-signed P-256 certificate, like Postern's own leaf certificates. */
async function certificate(): Promise<{ readonly cert: string; readonly key: string }> {
  const [cert, key] = [join(directory, "peer.pem"), join(directory, "peer.key")];
  if (!existsSync(cert)) {
    await run("openssl", [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-keyout",
      key,
      "-out",
      cert,
      "-days",
      "2",
      "-subj",
      "/CN=bench.localhost",
    ]);
  }
  return { cert, key };
}

interface Files {
  readonly cert: string;
  readonly key: string;
}

function written({ certificatePem, keyPem }: KeyedCertificate, name: string): Files {
  const [cert, key] = [join(directory, `${name}.pem`), join(directory, `${name}.key`)];
  writeFileSync(cert, certificatePem);
  writeFileSync(key, keyPem);
  return { cert, key };
}

/**
 * Starts nginx: one worker, TLS in front, keep-alive to the service.
 * @param shown certificate that replaces the one of all peers
 */
export async function startNginx(servicePort: number, shown?: KeyedCertificate): Promise<Peer> {
  const port = await freePort();
  return nginx(servicePort, port, [nginxServer(port, shown ? written(shown, String(port)) : await certificate())]);
}

/** Starts the same for many names, with a P-256 certificate for each. */
export async function startNginxOfMany(servicePort: number, names: readonly string[]): Promise<Peer> {
  const port = await freePort();
  const servers = [];
  for (const name of names) {
    const shown = await createSelfSigned({ names: [name], now: Date.now(), days: 2 });
    servers.push(nginxServer(port, written(shown, name), name));
  }
  return nginx(servicePort, port, servers);
}

function nginxServer(port: number, { cert, key }: Files, name = "_"): string {
  return `server { listen 127.0.0.1:${port} ssl http2; server_name ${name}; ssl_certificate ${cert}; ssl_certificate_key ${key};
    location / { proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto https; } }`;
}

async function nginx(servicePort: number, port: number, servers: readonly string[]): Promise<Peer> {
  const config = join(directory, `nginx-${port}.conf`);
  writeFileSync(
    config,
    `daemon off; worker_processes 1; pid ${directory}/nginx-${port}.pid; error_log ${directory}/nginx.log; user root;
events { worker_connections 4096; }
http { access_log off; keepalive_requests 100000000; client_max_body_size 0; proxy_request_buffering off; proxy_max_temp_file_size 0;
  client_body_temp_path ${directory}; proxy_temp_path ${directory}; fastcgi_temp_path ${directory}; uwsgi_temp_path ${directory}; scgi_temp_path ${directory};
  ssl_protocols TLSv1.2 TLSv1.3; server_names_hash_max_size 65536; server_names_hash_bucket_size 128;
  upstream service { server 127.0.0.1:${servicePort}; keepalive 256; keepalive_requests 100000000; }
  ${servers.join("\n  ")} }`,
  );
  const child = start("nginx", ["-c", config]);
  await listening(port);
  return { child, pid: child.pid as number, port };
}

/** Starts HAProxy: one thread, TLS in front. Connections may be idle for an hour. */
export async function startHaproxy(servicePort: number): Promise<Peer> {
  const port = await freePort();
  const { cert, key } = await certificate();
  const both = join(directory, "haproxy.pem");
  writeFileSync(both, readFileSync(cert, "utf8") + readFileSync(key, "utf8"));
  const config = join(directory, `haproxy-${port}.cfg`);
  writeFileSync(
    config,
    `global\n nbthread 1\n maxconn 5000\ndefaults\n mode http\n timeout connect 5s\n timeout client 1h\n timeout server 1h\n` +
      `frontend edge\n bind 127.0.0.1:${port} ssl crt ${both}\n default_backend service\n` +
      `backend service\n server one 127.0.0.1:${servicePort}\n`,
  );
  const child = start("haproxy", ["-db", "-q", "-f", config]);
  await listening(port);
  return { child, pid: child.pid as number, port };
}

export async function startCaddy(servicePort: number): Promise<Peer> {
  const port = await freePort();
  const { cert, key } = await certificate();
  const config = join(directory, `Caddyfile-${port}`);
  writeFileSync(
    config,
    `{\n admin off\n auto_https off\n}\nhttps://:${port} {\n tls ${cert} ${key}\n reverse_proxy 127.0.0.1:${servicePort}\n}\n`,
  );
  const child = start("caddy", ["run", "--config", config, "--adapter", "caddyfile"], { HOME: directory });
  await listening(port);
  return { child, pid: child.pid as number, port };
}

/** Starts `ssh -R`: sshd is the edge, ssh the agent. `port` is the public side; `pid` is sshd's. */
export async function startSsh(servicePort: number, sshdPort?: number): Promise<Peer & { readonly sshd: number }> {
  const [sshd, port] = [await freePort(), await freePort()];
  const host = join(directory, "host");
  const user = join(directory, "user");
  if (!existsSync(host)) await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", host]);
  if (!existsSync(user)) await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", user]);
  mkdirSync("/run/sshd", { recursive: true });
  const config = join(directory, `sshd-${sshd}`);
  writeFileSync(
    config,
    `Port ${sshd}\nListenAddress 127.0.0.1\nHostKey ${host}\nAuthorizedKeysFile ${user}.pub\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPidFile none\nMaxSessions 1000\nAllowTcpForwarding yes\n`,
  );
  const server = start("/usr/sbin/sshd", ["-D", "-e", "-f", config]);
  await listening(sshd);
  const through = sshdPort ?? sshd;
  const client = start("ssh", [
    "-N",
    "-i",
    user,
    "-p",
    String(through),
    "-o",
    "StrictHostKeyChecking=no",
    "-o",
    "UserKnownHostsFile=/dev/null",
    "-o",
    "LogLevel=ERROR",
    "-R",
    `127.0.0.1:${port}:127.0.0.1:${servicePort}`,
    "root@127.0.0.1",
  ]);
  // Children of sshd would survive it, and the client with them.
  server.once("exit", () => client.kill());
  await listening(port);
  return { child: server, pid: server.pid as number, port, sshd };
}
