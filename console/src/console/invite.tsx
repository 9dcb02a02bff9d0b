/** Creates a code for another machine with one click, and shows it once with its command. */
import { useState } from "preact/hooks";
import type { AgentInvitation } from "../../../sdk/src/index.ts";
import { Command, Time } from "../ui/elements.tsx";
import { explainError, postern } from "./api.ts";
import { Lifetime, hourMs } from "./lifetime.tsx";
import { Failed, Head } from "./parts.tsx";
import { linkTo } from "./router.ts";

export function Invite() {
  const [hours, setHours] = useState(1);
  const [uses, setUses] = useState(1);
  const [made, setMade] = useState<AgentInvitation>();
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  const invite = async (): Promise<void> => {
    setBusy(true);
    try {
      const expires_at = new Date(Date.now() + hours * hourMs).toISOString();
      setMade(await postern.agentInvitations.create({ uses, expires_at }));
      setError("");
    } catch (failure) {
      setError(explainError(failure).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <section class="column narrow-form" aria-label="Invite an agent">
      <Head
        title="Invite an agent"
        doc="Create a code with which another machine joins this server. The machine gets its own agent token."
      />
      <form
        class="panel inside column"
        onSubmit={(event) => {
          event.preventDefault();
          void invite();
        }}
      >
        <div class="two">
          <Lifetime id="invite-hours" label="The code expires after" hours={hours} onChoose={setHours} />
          <div class="field grow">
            <label for="invite-uses">Machines</label>
            <input
              id="invite-uses"
              type="number"
              min={1}
              max={1000}
              value={uses}
              onInput={(event) => setUses(Number(event.currentTarget.value))}
            />
          </div>
        </div>
        <Failed error={error} />
        <div class="row">
          <a href={linkTo("objects", "agent_invitation", "new")}>With an ACL or a description</a>
          <span class="grow" />
          <button type="submit" class="primary" disabled={isBusy}>
            Invite an agent
          </button>
        </div>
      </form>
      {made && <Invitation made={made} />}
    </section>
  );
}

/** Shows the code, which cannot be shown again. */
export function Invitation({
  made: { id, code, uses, expires_at },
}: {
  readonly made: Pick<AgentInvitation, "id" | "code" | "uses" | "expires_at">;
}) {
  return (
    <div class="panel inside column" role="status" aria-label="The code">
      <p>Run this command on the other machine. The code is shown only once.</p>
      <Command text={`npx postern join ${code}`} />
      <span class="muted small">
        {uses === 1 ? "It works for one machine" : `It works for ${uses} machines`}, until{" "}
        <Time at={expires_at ?? ""} />.
      </span>
      <div>
        <a href={linkTo("objects", "agent_invitation", id)}>Show or delete the invitation</a>
      </div>
    </div>
  );
}
