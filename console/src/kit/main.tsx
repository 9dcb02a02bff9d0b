/** All shared components and design tokens on one page, for development. */
import { Globe, ShieldCheck } from "lucide";
import { render } from "preact";
import { useState } from "preact/hooks";
import "../ui/theme.css";
import "./kit.css";
import {
  Command,
  Copy,
  Dialog,
  Dot,
  Failure,
  Skeleton,
  Tabs,
  Tag,
  TextArea,
  TextInput,
  ThemeButton,
  Time,
} from "../ui/elements.tsx";
import { Diff } from "../ui/diff.tsx";
import type { Tone } from "../ui/format.ts";
import { Icon, Logo } from "../ui/icon.tsx";
import { startTheme } from "../ui/theme.ts";

const tones: readonly (readonly [tone: Tone, meaning: string])[] = [
  ["good", "works, allowed"],
  ["warn", "needs attention"],
  ["bad", "denied, failed"],
  ["info", "in progress, changed"],
  ["", "neutral"],
];
const colours = ["bg", "surface", "raised", "sunken", "line", "text", "muted", "accent", "accent-soft"];
const sizes = ["xs", "s", "m", "l", "xl", "figure"];

function Kit() {
  const [tab, setTab] = useState("One");
  const [text, setText] = useState("shop.example.com");
  const [opens, setOpens] = useState(false);
  return (
    <main class="kit">
      <header class="row">
        <Logo />
        <h1 class="grow">Kit</h1>
        <ThemeButton />
      </header>
      <Part title="Colours">
        <ul class="swatches">
          {colours.map((name) => (
            <li key={name}>
              <i class={`swatch ${name}`} /> <code>{`--${name}`}</code>
            </li>
          ))}
        </ul>
      </Part>
      <Part title="Type">
        {sizes.map((name) => (
          <p key={name} class={`sample ${name}`}>
            {`Requests reach the service, --size-${name}`}
          </p>
        ))}
      </Part>
      <Part title="Buttons">
        <div class="row">
          <button type="button" class="primary">
            Publish a service
          </button>
          <button type="button">Edit</button>
          <button type="button" class="danger">
            Delete
          </button>
          <button type="button" class="plain">
            Cancel
          </button>
          <button type="button" class="tiny">
            Set
          </button>
          <button type="button" disabled>
            Apply
          </button>
          <button type="button" aria-pressed="true">
            Chosen
          </button>
          <Copy text="copied" kind="" />
        </div>
      </Part>
      <Part title="Meaning">
        <div class="row">
          {tones.map(([tone, meaning]) => (
            <span key={meaning} class="row">
              <Dot tone={tone} />
              <Tag tone={tone}>{meaning}</Tag>
            </span>
          ))}
        </div>
        <Failure text="The name is already in use. Choose another name." />
        <p class="notice">This view shows the current state.</p>
        <p class="notice warn">No agent is online.</p>
        <p class="notice good">Done, as revision 7.</p>
      </Part>
      <Part title="Fields">
        <div class="field">
          <label for="kit-text">Public name</label>
          <TextInput id="kit-text" value={text} onText={setText} />
          <span class="muted small">Names below localhost resolve to this machine.</span>
        </div>
        <div class="field">
          <label for="kit-wrong">Port</label>
          <TextInput id="kit-wrong" value="99999" aria-invalid onText={setText} />
        </div>
        <div class="field">
          <label for="kit-select">Login</label>
          <select id="kit-select">
            <option>Google</option>
          </select>
        </div>
        <TextArea rows={2} aria-label="Text" value={text} onText={setText} />
        <label class="row">
          <input type="checkbox" class="switch" checked /> Applied
        </label>
        <label class="row">
          <input type="checkbox" /> Also below this path
        </label>
      </Part>
      <Part title="Content">
        <Tabs label="Tabs" names={["One", "Two"]} chosen={tab} onChoose={setTab} />
        <Command text="npx postern http 3000" />
        <Time at={0} />
        <div class="row">
          <Icon of={Globe} /> <Icon of={ShieldCheck} />
        </div>
        <Diff before={"enabled: true"} after={"enabled: false"} />
        <div class="panel">
          <Skeleton />
        </div>
        <button type="button" onClick={() => setOpens(true)}>
          Open a dialog
        </button>
        {opens && (
          <Dialog title="A dialog" onClose={() => setOpens(false)}>
            <p>Escape closes it.</p>
          </Dialog>
        )}
      </Part>
    </main>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: preact.ComponentChildren }) {
  return (
    <section class="panel" aria-label={title}>
      <header>
        <h2>{title}</h2>
      </header>
      <div class="inside column">{children}</div>
    </section>
  );
}

startTheme();
const place = document.querySelector("#page");
if (place) render(<Kit />, place);
