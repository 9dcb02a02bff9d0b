/**
 * The editor, in a file that is loaded when the first policy is edited. It runs in a shadow root, where scripts can
 * adopt its style sheets. `style-src 'self'` allows those, but no style elements.
 */
import { autocompletion, closeBrackets, completionKeymap, startCompletion } from "@codemirror/autocomplete";
import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { yaml } from "@codemirror/lang-yaml";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import type { Diagnostic } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Offers } from "./completions.ts";

export interface Finding {
  readonly line: number;
  /** In code points, counted within the line. */
  readonly column: number;
  readonly message: string;
  readonly severity: "error" | "warning";
}

export interface CodeEditor {
  /** Shows findings at their positions and removes the previous ones. */
  show(findings: readonly Finding[]): void;
  replace(text: string): void;
  goTo(finding: Finding): void;
  destroy(): void;
}

interface CodeEditorOptions {
  readonly host: HTMLElement;
  readonly text: string;
  readonly label: string;
  offers(before: string): Offers | undefined;
  onText(text: string): void;
}

const highlight = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--info)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

const looks = EditorView.theme({
  "&": {
    border: "1px solid var(--line)",
    borderRadius: "var(--radius)",
    background: "var(--sunken)",
    color: "var(--text)",
    fontSize: "12.5px",
    maxHeight: "60vh",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", minHeight: "180px" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { background: "transparent", color: "var(--muted)", border: "none" },
  ".cm-activeLine": { background: "transparent" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { background: "var(--accent-soft) !important" },
  ".cm-tooltip": { background: "var(--raised)", border: "1px solid var(--line)", color: "var(--text)", zIndex: "50" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--accent-soft)", color: "var(--text)" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal" },
  ".cm-completionInfo": { whiteSpace: "pre-wrap", maxWidth: "360px" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap" },
});

export function openCodeEditor({ host, text, label, offers, onText }: CodeEditorOptions): CodeEditor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        yaml(),
        syntaxHighlighting(highlight),
        lintGutter(),
        autocompletion({ override: [(context) => completionsOf(context, offers)], icons: false }),
        // Tab moves the focus to the next control, as on the rest of the page.
        keymap.of([{ key: "Alt-i", run: startCompletion }, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
        EditorView.lineWrapping,
        EditorView.domEventHandlers({ beforeinput: typeOver }),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onText(update.state.doc.toString());
        }),
        looks,
      ],
    }),
  });
  return {
    show(findings) {
      const all = findings.map((one): Diagnostic => {
        const from = offsetOf(view.state, one);
        const to = Math.max(from, view.state.doc.lineAt(from).to);
        return { from, to, severity: one.severity, message: one.message };
      });
      view.dispatch(setDiagnostics(view.state, all));
    },
    replace(next) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
    },
    goTo(finding) {
      view.dispatch({ selection: { anchor: offsetOf(view.state, finding) }, scrollIntoView: true });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}

/**
 * Inserts text that is typed over a selection. The browser itself would copy the colours of the replaced text as inline
 * styles, which the page's policy forbids.
 */
function typeOver(event: InputEvent, view: EditorView): boolean {
  const { state, composing } = view;
  if (event.inputType !== "insertText" || event.data === null || composing || state.selection.main.empty) return false;
  event.preventDefault();
  view.dispatch(state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
  return true;
}

function offsetOf({ doc }: EditorState, { line, column }: Finding): number {
  const { from, to, text } = doc.line(Math.min(Math.max(1, line), doc.lines));
  const before = Array.from(text)
    .slice(0, column - 1)
    .join("").length;
  return Math.min(to, from + before);
}

function completionsOf(
  { pos, state, explicit }: CompletionContext,
  offers: CodeEditorOptions["offers"],
): CompletionResult | null {
  const found = offers(state.sliceDoc(0, pos));
  if (!found || found.offers.length === 0) return null;
  const last = state.sliceDoc(pos - 1, pos);
  // Suggestions open automatically only after a started word.
  if (!explicit && found.replaces === 0 && !/[.{:[]/.test(last)) return null;
  return {
    from: pos - found.replaces,
    options: found.offers.map(({ label, detail, info, apply, kind }) => ({
      label,
      type: kind,
      // Variables rank before functions.
      boost: kind === "function" ? -10 : 0,
      ...(detail !== undefined && { detail }),
      ...(info !== undefined && { info }),
      ...(apply !== undefined && { apply }),
    })),
    validFor: /^[\w-]*$/,
  };
}
