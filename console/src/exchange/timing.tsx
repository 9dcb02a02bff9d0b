/** Shows the parts of a request's time. */
import { durationText } from "../ui/format.ts";
import { Fact } from "./fact.tsx";
import { msOf } from "./model.ts";
import type { ShownExchange } from "./model.ts";

interface TimingPart {
  readonly name: string;
  /** Style of the bar, by the meaning of the part. */
  readonly kind: "edge" | "tunnel" | "connect" | "wait" | "receive";
  readonly ms: number;
}

/** Shows the known parts one after another. */
export function TimingBar({ exchange }: { readonly exchange: ShownExchange }) {
  const parts = partsOf(exchange);
  const total = parts.reduce((sum, { ms }) => sum + ms, 0);
  if (total === 0) return null;
  let at = 0;
  return (
    <svg class="times" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label={describeParts(parts)}>
      {parts.map(({ kind, ms }) => {
        const x = (at / total) * 100;
        at += ms;
        return <rect key={kind} class={kind} x={x} width={(ms / total) * 100} height="4" />;
      })}
    </svg>
  );
}

/** Shows the same as numbers. */
export function TimingFacts({ exchange }: { readonly exchange: ShownExchange }) {
  const { timing, first_byte, duration, outcome } = exchange;
  const first = timing?.first_byte ?? first_byte;
  return (
    <>
      {partsOf(exchange).flatMap(({ name, kind, ms }) =>
        kind === "receive"
          ? []
          : [
              <Fact key={kind} name={name} tone={kind}>
                {durationText(ms)}
              </Fact>,
            ],
      )}
      {first !== null && <Fact name="First byte">{durationText(msOf(first))}</Fact>}
      <Fact name="In all">{outcome === "open" ? "goes on" : durationText(msOf(duration))}</Fact>
    </>
  );
}

function partsOf({ timing, first_byte, duration, outcome }: ShownExchange): TimingPart[] {
  const names = [
    ["Edge", "edge", timing?.edge],
    ["Tunnel", "tunnel", timing?.tunnel],
    ["Connect", "connect", timing?.connect || undefined],
    ["Upstream", "wait", timing?.upstream],
  ] as const;
  const parts: TimingPart[] = names.flatMap(([name, kind, ns]) => (ns == null ? [] : [{ name, kind, ms: msOf(ns) }]));
  if (first_byte === null || outcome === "open") return parts;
  return [...parts, { name: "Receiving", kind: "receive", ms: Math.max(0, msOf(duration) - msOf(first_byte)) }];
}

function describeParts(parts: readonly TimingPart[]): string {
  return parts.map(({ name, ms }) => `${name} ${durationText(ms)}`).join(", ");
}
