/**
 * Makes untrusted text safe to read: controls, invisible characters and characters that change the text direction are
 * shown as symbols.
 */
import { options } from "preact";
import type { ComponentChildren } from "preact";

/** Line ends and tabs stay, and joiners, because scripts need them. */
const obeyed = /(?![\n\r\t\u200c\u200d])[\p{Cc}\p{Zl}\p{Zp}\p{Cf}]/gu;
/** Attributes that are shown or read aloud. */
const spoken = ["title", "aria-label", "aria-valuetext", "alt", "placeholder"] as const;

export function toVisible(text: string): string {
  return text.replace(obeyed, (sign) => `[U+${sign.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}]`);
}

/** Applies this to the texts of all elements. Values of form fields stay unchanged. */
export function startVisible(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    if (typeof vnode.type === "string" && vnode.type !== "textarea") {
      const props = vnode.props as Record<string, unknown> & { children?: ComponentChildren };
      if (props.children !== undefined) props.children = toVisibleChildren(props.children);
      for (const name of spoken) if (typeof props[name] === "string") props[name] = toVisible(props[name]);
    }
    before?.(vnode);
  };
}

function toVisibleChildren(children: ComponentChildren): ComponentChildren {
  if (typeof children === "string") return toVisible(children);
  return Array.isArray(children) ? children.map(toVisibleChildren) : children;
}
