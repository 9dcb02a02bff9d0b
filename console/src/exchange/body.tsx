/** Shows a body according to its type. */
import { useEffect, useState } from "preact/hooks";
import { Copy, Tabs, Tag } from "../ui/elements.tsx";
import { bytesText } from "../ui/format.ts";
import { readBody } from "./body-kinds.ts";
import type { ShownBody } from "./body-kinds.ts";
import { GrpcMessages, Parts } from "./contents.tsx";
import { bodyOf } from "./model.ts";
import type { Message } from "./model.ts";

const ways = ["Pretty", "Raw"] as const;

export function Body({ message, title }: { readonly message: Message; readonly title: string }) {
  const [way, setWay] = useState<(typeof ways)[number]>("Pretty");
  /** Undefined while it is decoded. */
  const [shown, setShown] = useState<ShownBody>();
  const { bytes, kept, cut, ended } = message.body;
  useEffect(() => {
    let isStale = false;
    void readBody(bodyOf(message), message.headers, cut).then((read) => !isStale && setShown(read));
    return () => {
      isStale = true;
    };
  }, [message]);
  const raw = (): string => new TextDecoder().decode(bodyOf(message));
  return (
    <section aria-label={title}>
      <div class="row">
        <h3 class="grow">{title}</h3>
        <span class="muted small">{bytesText(bytes)}</span>
        {cut && <Tag tone="warn">{bytesText(kept)} kept</Tag>}
        {!ended && <Tag tone="info">arriving</Tag>}
        {kept > 0 && <Copy text={raw} label={`Copy ${title.toLowerCase()}`} />}
      </div>
      {kept > 0 && (
        <Tabs
          label={`View of ${title.toLowerCase()}`}
          names={ways}
          chosen={way}
          onChoose={(name) => setWay(() => name)}
        />
      )}
      {way === "Raw" && kept > 0 ? (
        <pre class="box">{raw()}</pre>
      ) : message.parts ? (
        <Parts parts={message.parts} />
      ) : message.grpc ? (
        <GrpcMessages grpc={message.grpc} />
      ) : (
        shown && <Read shown={shown} />
      )}
    </section>
  );
}

function Read({ shown }: { readonly shown: ShownBody }) {
  switch (shown.kind) {
    case "empty":
      return <p class="muted small">Empty.</p>;
    case "image":
      return <Image type={shown.type} bytes={shown.bytes} />;
    case "pairs":
      return (
        <dl class="pairs box mono">
          {shown.pairs.map(([name, value], at) => [<dt key={`${at}n`}>{name}</dt>, <dd key={`${at}v`}>{value}</dd>])}
        </dl>
      );
    case "events":
      return (
        <ol class="events box">
          {shown.events.map(({ event, id, data }, at) => (
            <li key={at}>
              <Tag>{event}</Tag> {id !== "" && <span class="muted small">{id}</span>}
              <pre>{data}</pre>
            </li>
          ))}
        </ol>
      );
    case "bytes":
      return (
        <>
          <p class="muted small">Shown as bytes: {shown.why}.</p>
          <pre class="box wide">{shown.text}</pre>
        </>
      );
    default:
      return <pre class="box">{shown.text}</pre>;
  }
}

/** Inside `img`, scripts of an SVG do not run. */
function Image({ type, bytes }: { readonly type: string; readonly bytes: Uint8Array<ArrayBuffer> }) {
  const [url, setUrl] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  return <figure class="box">{url !== "" && <img src={url} alt={`Body, ${type}`} />}</figure>;
}
