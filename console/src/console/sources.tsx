/** Objects that no form creates: their origin, and how to create one. */
import { Command } from "../ui/elements.tsx";

interface CodeSource {
  readonly text: string;
  readonly command?: string;
}

const agent = "npx postern http 3000";

const sources: Readonly<Record<string, CodeSource>> = {
  endpoint: { text: "Each public URL has an endpoint. To publish the service on port 3000:", command: agent },
  tunnel: {
    text: "Tunnels exist while their agent is connected. To publish the service on port 3000:",
    command: agent,
  },
  tunnel_session: { text: "Each connected agent has a session. To publish the service on port 3000:", command: agent },
  node: {
    text: "Each running server is a node. To start another server with the first server's database (its URL is in DATABASE_URL):",
    command: 'npx postern serve --cluster --database "$DATABASE_URL"',
  },
  console_session: {
    text: "Each login to this console, and each connected assistant, has a session. To print a login link:",
    command: "npx postern console",
  },
};

/** Text for all other kinds, such as objects of logins. */
const ofTraffic = "Created automatically when a visitor logs in to a service that requires a login.";

export function SourceOf({ kind }: { readonly kind: string }) {
  const { text, command } = sources[kind] ?? { text: ofTraffic };
  return (
    <>
      <p>{text}</p>
      {command === undefined ? (
        <a class="button primary" href="#/publish">
          Publish a service
        </a>
      ) : (
        <Command text={command} />
      )}
    </>
  );
}
