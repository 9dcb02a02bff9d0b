/** A list of rows with the same height, of which only those on the screen are in the page. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface Props<Item> {
  readonly label: string;
  /** Newest first. Rows that arrive above the visible ones do not move them. */
  readonly items: readonly Item[];
  /** Pixels. */
  readonly rowHeight: number;
  /** Id of the chosen item, which is scrolled into view when it changes. */
  readonly chosenId: string | undefined;
  row(item: Item): ComponentChildren;
  rowClass?(item: Item): string;
  /** Called near the end of the list. */
  onEnd?(): void;
}

/** Rows beyond the edges of the screen. */
const overscan = 15;

export function VirtualList<Item extends { readonly id: string }>(props: Props<Item>) {
  const { label, items, rowHeight, chosenId, row, rowClass, onEnd } = props;
  const list = useRef<HTMLUListElement>(null);
  const [range, setRange] = useState<readonly [first: number, last: number]>([0, 60]);
  const count = items.length;
  const update = (): void => {
    const element = list.current;
    if (!element) return;
    // The list scrolls, or on narrow screens the page.
    const { top, bottom } = element.getBoundingClientRect();
    const start = top - element.scrollTop;
    const from = Math.floor((Math.max(0, top) - start) / rowHeight);
    const to = Math.ceil((Math.min(innerHeight, bottom) - start) / rowHeight);
    const first = Math.max(0, Math.floor((from - overscan) / 10) * 10);
    const last = Math.ceil((to + overscan) / 10) * 10;
    setRange((now) => (now[0] === first && now[1] === last ? now : [first, last]));
    if (to + overscan >= count) onEnd?.();
  };
  const current = useRef(update);
  current.current = update;
  useEffect(() => {
    const run = (): void => current.current();
    document.addEventListener("scroll", run, { capture: true, passive: true });
    // Its size changes with the window, and when it is shown again.
    const sizes = new ResizeObserver(run);
    if (list.current) sizes.observe(list.current);
    addEventListener("resize", run);
    return () => {
      document.removeEventListener("scroll", run, { capture: true });
      sizes.disconnect();
      removeEventListener("resize", run);
    };
  }, []);
  const first = useRef(items[0]?.id);
  useLayoutEffect(() => {
    const added = items.findIndex(({ id }) => id === first.current);
    first.current = items[0]?.id;
    // Reading the size makes the browser compute the layout, so it is read only if needed.
    const element = added > 0 ? list.current : null;
    const scroller = element && element.scrollHeight > element.clientHeight ? element : element?.closest(".page");
    if (scroller && scroller.scrollTop > 0) scroller.scrollTop += added * rowHeight;
    update();
  }, [items]);
  useLayoutEffect(() => {
    const at = items.findIndex(({ id }) => id === chosenId);
    const element = list.current;
    if (!element || at < 0) return;
    const above = at * rowHeight;
    if (above < element.scrollTop) element.scrollTop = above;
    else if (above + rowHeight > element.scrollTop + element.clientHeight) {
      element.scrollTop = above + rowHeight - element.clientHeight;
    }
  }, [chosenId]);
  const begin = Math.min(range[0], count);
  const end = Math.min(range[1], count);
  return (
    <ul class="requests" aria-label={label} ref={list}>
      <li aria-hidden="true" style={{ height: `${begin * rowHeight}px` }} />
      {items.slice(begin, end).map((item, at) => (
        <li
          key={item.id}
          class={`row-of-list ${rowClass?.(item) ?? ""}`}
          aria-setsize={count}
          aria-posinset={begin + at + 1}
          style={{ height: `${rowHeight}px` }}
        >
          {row(item)}
        </li>
      ))}
      <li aria-hidden="true" style={{ height: `${(count - end) * rowHeight}px` }} />
    </ul>
  );
}
