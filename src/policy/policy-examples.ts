/** Example policies for editors. Each compiles unchanged and without warnings. */
import type { Layer } from "./language/action.ts";

export interface PolicyExample {
  readonly title: string;
  readonly protocols: readonly Layer[];
  readonly policy: string;
}

export const policyExamples: readonly PolicyExample[] = [
  {
    title: "Admit addresses",
    protocols: ["http"],
    policy: `on_http_request:
  - actions:
      - type: restrict-ips
        config: { allow: [192.0.2.0/24] }
`,
  },
  {
    title: "Limit requests for each address",
    protocols: ["http"],
    policy: `on_http_request:
  - actions:
      - type: rate-limit
        config:
          name: for each address
          algorithm: sliding_window
          capacity: 100
          rate: 60s
          bucket_key: [conn.client_ip]
`,
  },
  {
    title: "Require a password below a path",
    protocols: ["http"],
    policy: `on_http_request:
  - expressions: ["req.url.path.startsWith('/admin/')"]
    actions:
      - type: basic-auth
        config: { realm: staff, credentials: ["ann:correct horse"] }
`,
  },
  {
    title: "Redirect to another address",
    protocols: ["http"],
    policy: `on_http_request:
  - expressions: ["req.url.path == '/old'"]
    actions:
      - type: redirect
        config: { to: /new, status_code: 301 }
`,
  },
  {
    title: "Add header fields",
    protocols: ["http"],
    policy: `on_http_request:
  - actions:
      - type: add-headers
        config: { headers: { x-client: "\${conn.client_ip}" } }
on_http_response:
  - actions:
      - type: add-headers
        config: { headers: { cache-control: no-store } }
`,
  },
  {
    title: "Allow connections from addresses",
    protocols: ["tls", "tcp"],
    policy: `on_tcp_connect:
  - actions:
      - type: restrict-ips
        config: { allow: [192.0.2.0/24] }
`,
  },
];
