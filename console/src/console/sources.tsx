/** Objects that nobody makes by a form: what they come from, and how one comes to be. */
import { Command } from "../ui/elements.tsx";

interface Source {
  readonly text: string;
  readonly command?: string;
}

const agent = "npx postern http 3000";

const sources: Readonly<Record<string, Source>> = {
  endpoint: { text: "Each public URL is one. This publishes what listens on port 3000:", command: agent },
  tunnel: { text: "An agent brings it, and takes it along. This publishes what listens on port 3000:", command: agent },
  tunnel_session: { text: "Each connected agent has one. This publishes what listens on port 3000:", command: agent },
  node: {
    text: "Each server that runs is one. This starts another with the database of the first, whose URL is in DATABASE_URL:",
    command: 'npx postern serve --cluster --database "$DATABASE_URL"',
  },
  console_session: {
    text: "Whoever logs in to this page has one. This prints a link that logs in:",
    command: "npx postern console",
  },
};

/** For the others: what comes of logins, and what nobody has thought of here. */
const ofTraffic = "They come by themselves when somebody logs in at a service that asks for it.";

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
