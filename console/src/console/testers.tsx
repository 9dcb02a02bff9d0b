/** Tests an IP policy, an agent token or an API key: would a value be allowed? */
import { useState } from "preact/hooks";
import type { Verdict } from "../../../sdk/src/index.ts";
import { operations } from "../../../sdk/src/index.ts";
import { Tag, TextInput } from "../ui/elements.tsx";
import type { ApiObject } from "./api.ts";
import { explainError, postern } from "./api.ts";
import { titleOf } from "./description.ts";
import type { Description, Kind } from "./description.ts";
import { Name, WithNames } from "./named.tsx";
import { Failed } from "./parts.tsx";

interface TesterForm {
  readonly title: string;
  readonly label: string;
  readonly example: string;
  /** Possible values, if known. */
  readonly choices?: readonly string[];
  /** Additional field of the test. */
  readonly also?: string;
  ask(id: string, text: string, also: string): Promise<Verdict>;
}

const questions: Readonly<Record<string, TesterForm>> = {
  ip_policy: {
    title: "Is an address allowed?",
    label: "Address",
    example: "198.51.100.7",
    ask: (id, text) => postern.ipPolicies.test(id, { source_ip: text }),
  },
  credential: {
    title: "May an agent with this token publish a name?",
    label: "Host, host:port or key=value",
    example: "app.example.com:443",
    ask: (id, text) => postern.credentials.test(id, { bind: text }),
  },
  api_key: {
    title: "May this key call an operation?",
    label: "Operation",
    example: "createIPPolicy",
    choices: operations.map((one) => one.id).sort(),
    also: "Metadata of the object",
    ask: (id, text, metadata) => postern.apiKeys.test(id, { operation: text, ...(metadata !== "" && { metadata }) }),
  },
};

interface TesterProps {
  readonly kind: Kind;
  readonly object: ApiObject;
  readonly description: Description;
}

export function Tester({ kind, object, description }: TesterProps) {
  const question = questions[kind.name];
  const [text, setText] = useState("");
  const [also, setAlso] = useState("");
  const [verdict, setVerdict] = useState<Verdict>();
  const [error, setError] = useState("");
  if (!question) return null;
  const ask = async (): Promise<void> => {
    try {
      setVerdict(await question.ask(object.id, text.trim(), also));
      setError("");
    } catch (failure) {
      const { message, fields } = explainError(failure);
      setVerdict(undefined);
      setError([message, ...Object.values(fields)].join("; "));
    }
  };
  return (
    <form
      class="panel"
      aria-label={question.title}
      onSubmit={(event) => {
        event.preventDefault();
        void ask();
      }}
    >
      <header>
        <h2>{question.title}</h2>
      </header>
      <div class="inside column">
        <div class="row">
          <TextInput
            class="grow"
            aria-label={question.label}
            placeholder={question.choices ? question.label : `e.g. ${question.example}`}
            required
            {...(question.choices && { list: "tester-choices" })}
            value={text}
            onText={(next) => {
              setText(next);
              setVerdict(undefined);
            }}
          />
          {question.also !== undefined && (
            <TextInput aria-label={question.also} placeholder={question.also} value={also} onText={setAlso} />
          )}
          <button type="submit">Ask</button>
        </div>
        {question.choices && (
          <datalist id="tester-choices">
            {question.choices.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        )}
        <Failed error={error} />
        {verdict && (
          <p role="status">
            <Tag tone={verdict.allowed ? "good" : "bad"}>{verdict.allowed ? "yes" : "no"}</Tag>{" "}
            <WithNames text={verdict.reason} description={description} />{" "}
            {verdict.decided_by && !verdict.reason.includes(verdict.decided_by.id) && (
              <Name id={verdict.decided_by.id} description={description} text={titleOf(verdict.decided_by.kind)} />
            )}
          </p>
        )}
      </div>
    </form>
  );
}
