import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { beforeEach, describe, it } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { makeManualClock } from "../../../test/support/clock.ts";
import { Terminal } from "../../../test/support/terminal.ts";
import { openScreen } from "./screen.ts";
import type { Screen, ScreenState } from "./screen.ts";
import { fitLine, shownText } from "./text-width.ts";

/** The parts of a terminal's stream that the screen uses. */
function outputOf(terminal: EventEmitter & { write(text: string): boolean }): Parameters<typeof openScreen>[0] {
  return terminal as unknown as Parameters<typeof openScreen>[0];
}

describe("the live screen", () => {
  let clock = makeManualClock();
  let drawings: string[];
  let screen: Screen;
  let state: ScreenState;
  const show = (next: ScreenState): void => {
    state = next;
    screen.changed();
  };
  const request = { method: "GET", target: "/", status: 200, durationMs: 3, at: 0 };

  beforeEach(() => {
    clock = makeManualClock();
    drawings = [];
    const write = (text: string): boolean => drawings.push(text) > 0;
    state = { title: "", rows: [] };
    const output = outputOf(Object.assign(new EventEmitter(), { columns: 60, rows: 20, write }));
    screen = openScreen(output, clock, () => state);
  });

  it("the live screen is drawn at most five times a second", () => {
    for (let round = 0; round < 20; round += 1) {
      for (let count = 0; count < 50; count += 1) screen.request({ ...request, target: `/${round * 50 + count}` });
      clock.pass(50);
    }
    assert.equal(drawings.length, 5);
    assert.match(drawings.at(-1) ?? "", /\/999 /);
  });

  it("the live screen is not drawn again without a change", () => {
    for (let round = 0; round < 3; round += 1) {
      show({ title: "Postern", rows: [["Status", "online"]] });
      clock.pass(200);
    }
    assert.equal(drawings.length, 1);
    // Another program wrote to the terminal.
    screen.redraw();
    clock.pass(200);
    assert.equal(drawings.length, 2);
  });

  it("the live screen updates changing numbers within a second", () => {
    show({ title: "Postern", rows: [["Rate", "5"]] });
    clock.pass(400);
    state = { title: "Postern", rows: [["Rate", "4"]] };
    clock.pass(1_000);
    assert.equal(drawings.length, 2);
    assert.match(drawings[1] ?? "", /4/);
    screen.close();
    assert.equal(clock.pending, 0);
  });

  it("the live screen removes control sequences that visitors sent", () => {
    screen.request({ ...request, target: "/\u001B]0;owned\u0007\u009b2J" });
    clock.pass(200);
    const shown = stripVTControlCharacters(drawings[0] ?? "");
    assert.match(shown, /\?\]0;owned\?\?2J/);
    const codes = Array.from(shown, (letter) => letter.charCodeAt(0));
    assert(codes.every((code) => code === 10 || code === 13 || (code >= 32 && code < 127) || code > 159));
  });

  it("the live screen cuts lines that are too wide", () => {
    show({ title: "title", rows: [["Status", "x".repeat(500)]] });
    screen.request({ ...request, target: `/${"y".repeat(500)}` });
    screen.close();
    for (const line of stripVTControlCharacters(drawings[0] ?? "").split("\n")) assert(line.length <= 61, line);
  });

  it("the live screen lists the last requests, newest first", () => {
    for (let count = 1; count <= 30; count += 1) screen.request({ ...request, target: `/${count}` });
    screen.close();
    const targets = [...(drawings[0] ?? "").matchAll(/GET +\/(\d+)/g)].map((match) => Number(match[1]));
    assert.deepEqual(targets, [30, 29, 28, 27, 26, 25, 24, 23, 22, 21]);
  });

  it("the live screen is drawn completely after each change of the terminal's size", () => {
    const terminal = new Terminal(100, 24);
    const live = openScreen(outputOf(terminal), clock, () => ({
      title: "Postern",
      rows: [
        ["Status", "online"],
        ["Forwarding", `https://${"a".repeat(60)}.localhost → here`],
      ],
    }));
    for (let count = 1; count <= 10; count += 1) live.request({ ...request, target: `/${"x".repeat(60)}${count}` });
    clock.pass(200);
    for (const [columns, rows] of [
      [60, 24],
      [61, 12],
      [20, 12],
      [20, 3],
      [200, 50],
      [9, 2],
      [120, 24],
      [30, 40],
    ] as const) {
      terminal.resize(columns, rows);
      clock.pass(200);
      live.request({ ...request, target: "/after" });
      clock.pass(200);
      const seen = terminal.seen();
      assert.ok(seen.length <= Math.max(1, rows - 1), `${columns}×${rows}: ${seen.length}`);
      assert.ok(seen[0]?.startsWith("Postern".slice(0, columns - 2)), `${columns}×${rows}: ${seen.join("|")}`);
      assert.equal(
        seen.filter((line) => line.startsWith("Status")).length,
        rows > 3 && columns > 9 ? 1 : 0,
        seen.join("|"),
      );
      assert.ok(
        seen.every((line) => line.length < columns),
        `${columns}×${rows}: ${seen.join("|")}`,
      );
    }
    live.close();
    assert.equal(terminal.listenerCount("resize"), 0);
  });

  it("the live screen counts wide characters as two columns and removes control sequences from the user's own text", () => {
    assert.equal(fitLine("東京東京", 8), "東京東京");
    assert.equal(fitLine("東京東京", 7), "東京東…");
    assert.equal(fitLine("東京東京", 6), "東京…");
    assert.equal(fitLine("e\u0301e\u0301", 2), "e\u0301e\u0301");
    assert.equal(fitLine("🚀🚀", 3), "🚀…");
    assert.equal(fitLine("abc", 1), "…");
    assert.equal(fitLine("abc", 0), "");
    assert.equal(shownText("app=東京\u001B[2J\u202E\u009b\n"), "app=東京?[2J???");
  });
});
