/** A traffic policy in a form: with completion, checks by the server while the user types, and tests with requests. */
import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { PolicyCheck } from "../../../../sdk/src/index.ts";
import { TextArea } from "../../ui/elements.tsx";
import { postern } from "../api.ts";
import type { JsonObject } from "../api.ts";
import type { Description } from "../description.ts";
import { useData } from "../use-data.ts";
import type { CodeEditor, Finding } from "./code-editor.ts";
import { offersAt } from "./completions.ts";
import { policyLanguage } from "./language.ts";
import type { Protocol } from "./language.ts";
import { TryIt } from "./try-it.tsx";

/** Protocol of the policies in a form. */
export const PolicyProtocol = createContext<Protocol>("http");

export function protocolOf(kind: string, value: JsonObject): Protocol {
  const url = typeof value["url"] === "string" ? value["url"] : "";
  if (kind === "tls_edge" || url.startsWith("tls:")) return "tls";
  return kind === "tcp_edge" || url.startsWith("tcp:") ? "tcp" : "http";
}

/** Pause after the last key before a check, milliseconds. */
const checkAfterMs = 400;

interface PolicyFieldProps {
  readonly id: string;
  readonly value: string;
  readonly description: Description;
  onChange(value: string): void;
}

export function PolicyField({ id, value, description, onChange }: PolicyFieldProps) {
  const protocol = useContext(PolicyProtocol);
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<CodeEditor | undefined>(undefined);
  /** Text when the editor is loaded. The user may have started to type earlier. */
  const latest = useRef(value);
  latest.current = value;
  const changed = useRef(onChange);
  changed.current = onChange;
  const [isPlain, setPlain] = useState(false);
  const [found, setFound] = useState<readonly Finding[]>([]);
  const language = useData(policyLanguage, []);
  useEffect(() => {
    if (!host.current || !language.value) return;
    const [into, known] = [host.current, language.value];
    let isGone = false;
    void import("./code-editor.ts").then(
      ({ openCodeEditor }) => {
        if (isGone) return;
        editor.current = openCodeEditor({
          host: into,
          text: latest.current,
          label: "Policy",
          offers: (before) => offersAt(before, known, protocol),
          onText: (text) => changed.current(text),
        });
        editor.current.show(found);
      },
      () => setPlain(true),
    );
    return () => {
      isGone = true;
      editor.current?.destroy();
      editor.current = undefined;
    };
  }, [language.value, protocol]);
  useEffect(() => {
    if (value.trim() === "") return setFound([]);
    let isStale = false;
    const timer = setTimeout(() => {
      void postern.policies.check({ policy: value, protocol }).then(
        (check) => !isStale && setFound(findingsOf(check)),
        () => {},
      );
    }, checkAfterMs);
    return () => {
      isStale = true;
      clearTimeout(timer);
    };
  }, [value, protocol]);
  useEffect(() => editor.current?.show(found), [found]);
  const examples = language.value?.examples.filter(({ protocols }) => protocols.includes(protocol)) ?? [];
  return (
    <div class="column policy" id={id}>
      <div class="row">
        <select
          aria-label="Start with an example"
          value=""
          onChange={(event) => {
            const chosen = examples.find(({ title }) => title === event.currentTarget.value);
            event.currentTarget.value = "";
            if (!chosen) return;
            if (editor.current) editor.current.replace(chosen.policy);
            else onChange(chosen.policy);
          }}
        >
          <option value="">Start with an example …</option>
          {examples.map(({ title }) => (
            <option key={title}>{title}</option>
          ))}
        </select>
        <span class="muted small">
          <kbd>Ctrl</kbd> <kbd>Space</kbd> lists the possible values; <kbd>Tab</kbd> leaves the editor.
        </span>
      </div>
      {isPlain || language.error !== "" ? (
        <TextArea aria-label="Policy" rows={10} spellcheck={false} value={value} onText={onChange} />
      ) : (
        <div ref={host} class="code-host" />
      )}
      <Findings found={found} onGo={(one) => editor.current?.goTo(one)} />
      <TryIt policy={value} protocol={protocol} description={description} isFine={found.every(isWarning)} />
    </div>
  );
}

function isWarning({ severity }: Finding): boolean {
  return severity === "warning";
}

function findingsOf({ issues, warnings }: PolicyCheck): readonly Finding[] {
  const of =
    (severity: Finding["severity"]) =>
    (one: PolicyCheck["warnings"][number]): Finding => ({
      line: one.line,
      column: one.column,
      // The position in the expression is redundant beside the position in the text.
      message: one.message.replace(/^line \d+, column \d+: /, ""),
      severity,
    });
  return [...issues.map(of("error")), ...warnings.map(of("warning"))];
}

function Findings({ found, onGo }: { readonly found: readonly Finding[]; onGo(finding: Finding): void }) {
  return (
    <ol class="findings" aria-label="Errors in the policy" aria-live="polite">
      {found.map((one, at) => (
        <li key={at} class={one.severity}>
          <button type="button" class="plain tiny" onClick={() => onGo(one)}>
            {one.line}:{one.column}
          </button>{" "}
          {one.message}
        </li>
      ))}
    </ol>
  );
}
