/** Makes untrusted text safe to read: characters that change the text direction are shown as symbols. */
import { options } from "preact";
import type { ComponentChildren } from "preact";

const turning = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
/** Attributes that are shown or read aloud. */
const spoken = ["title", "aria-label", "alt", "placeholder"] as const;

export function visible(text: string): string {
  return text.replace(turning, (sign) => `[U+${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);
}

/** Applies this to the texts of all elements. Values of form fields stay unchanged. */
export function startVisible(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    if (typeof vnode.type === "string" && vnode.type !== "textarea") {
      const props = vnode.props as Record<string, unknown> & { children?: ComponentChildren };
      if (props.children !== undefined) props.children = shownChildren(props.children);
      for (const name of spoken) if (typeof props[name] === "string") props[name] = visible(props[name]);
    }
    before?.(vnode);
  };
}

function shownChildren(children: ComponentChildren): ComponentChildren {
  if (typeof children === "string") return visible(children);
  return Array.isArray(children) ? children.map(shownChildren) : children;
}
