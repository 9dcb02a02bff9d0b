/** How the port of a published service gets an agent: automatically, with a command, or on a new machine. */
import { useState } from "preact/hooks";
import type { AgentInvitation } from "../../../../sdk/src/index.ts";
import { Command } from "../../ui/elements.tsx";
import { quoteForShell } from "../../ui/shell.ts";
import { explainError, postern } from "../api.ts";
import { Invitation } from "../invite.tsx";
import { Failed } from "../parts.tsx";
import { place } from "../router.ts";

interface Props {
  readonly labels: Readonly<Record<string, string>>;
  readonly isServed: boolean;
  /** Default: https. */
  readonly protocol?: string;
}

export function StartAgent({ labels, isServed, protocol = "https" }: Props) {
  const { query } = place.value;
  const target = query.get("target") ?? (protocol === "https" ? "3000" : "5432");
  const machine = query.get("machine");
  const told = Object.entries(labels).map(([name, value]) => quoteForShell(`${name}=${value}`));
  if (machine === "here") {
    return (
      <span class="muted small">
        {isServed
          ? `The server's own agent forwards requests to port ${target}.`
          : `The server's own agent connects port ${target}. This page updates automatically.`}
      </span>
    );
  }
  return (
    <>
      {machine === "new" && !isServed && <Join />}
      <Command
        text={`npx postern ${protocol === "https" ? "http" : "tcp"} ${quoteForShell(target)} --label ${told.join(" --label ")}`}
      />
      <span class="muted small">
        {isServed
          ? "While the agent runs, requests to the public name go to your port."
          : "Run this in another terminal, in the Postern folder, on the machine of your service. This page updates automatically."}
      </span>
    </>
  );
}

/** Creates a code with which a new machine joins. */
function Join() {
  const [made, setMade] = useState<AgentInvitation>();
  const [error, setError] = useState("");
  const invite = async (): Promise<void> => {
    try {
      setMade(await postern.agentInvitations.create({ uses: 1 }));
    } catch (failure) {
      setError(explainError(failure).message);
    }
  };
  return (
    <>
      <Failed error={error} />
      {made ? (
        <Invitation made={made} />
      ) : (
        <span>
          <button type="button" onClick={() => void invite()}>
            Show the command that connects the machine
          </button>
        </span>
      )}
    </>
  );
}
