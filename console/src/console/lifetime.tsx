/** Selects how long an invitation works. */

export const hourMs = 3_600_000;
const lifetimes: readonly (readonly [name: string, hours: number])[] = [
  ["one hour", 1],
  ["one day", 24],
  ["three days", 72],
  ["seven days", 168],
];

interface LifetimeProps {
  readonly id: string;
  readonly label: string;
  readonly hours: number;
  onChoose(hours: number): void;
}

export function Lifetime({ id, label, hours, onChoose }: LifetimeProps) {
  return (
    <div class="field grow">
      <label for={id}>{label}</label>
      <select id={id} value={hours} onChange={(event) => onChoose(Number(event.currentTarget.value))}>
        {lifetimes.map(([name, value]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}
