/** Icons of the pages, from the Lucide set. The build contains only the imported ones. */
import type { IconNode } from "lucide";
import { h } from "preact";

/** An icon is decoration: a text or a label beside it carries the meaning. */
export function Icon({ of }: { readonly of: IconNode }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      {of.map(([tag, attributes], at) => h(tag, { ...attributes, key: at }))}
    </svg>
  );
}

/** The product's mark: a gate, and the way through. */
export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#0d746b" />
      <path d="M8 26V15a8 8 0 0 1 16 0v11z" fill="#fff" />
      <path
        d="m14.2 14.6 4.4 4.4-4.4 4.4"
        fill="none"
        stroke="#0d746b"
        stroke-width="2.8"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
