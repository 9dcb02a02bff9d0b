import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { makeManualClock } from "../../../test/support/clock.ts";
import { openScreen } from "./screen.ts";
import type { Screen } from "./screen.ts";

describe("the live screen", () => {
  let clock = makeManualClock();
  let drawings: string[];
  let screen: Screen;
  const request = { method: "GET", target: "/", status: 200, durationMs: 3, at: 0 };

  beforeEach(() => {
    clock = makeManualClock();
    drawings = [];
    const write = (text: string): boolean => drawings.push(text) > 0;
    screen = openScreen({ columns: 60, rows: 20, write: write as NodeJS.WriteStream["write"] }, clock);
  });

  it("is drawn ten times a second at most, however much happens", () => {
    for (let round = 0; round < 20; round += 1) {
      for (let count = 0; count < 50; count += 1) screen.request(request);
      clock.pass(50);
    }
    assert.equal(drawings.length, 10);
    assert.match(drawings.at(-1) ?? "", /1000/);
  });

  it("shows nothing of a visitor's bytes that a terminal could take for a command", () => {
    screen.request({ ...request, target: "/\u001B]0;owned\u0007\u009b2J" });
    clock.pass(100);
    const shown = stripVTControlCharacters(drawings[0] ?? "");
    assert.match(shown, /\?\]0;owned\?\?2J/);
    const codes = Array.from(shown, (letter) => letter.charCodeAt(0));
    assert(codes.every((code) => code === 10 || code === 13 || (code >= 32 && code < 127) || code > 159));
  });

  it("cuts lines that would wrap", () => {
    screen.show({ title: "title", rows: [["Status", "x".repeat(500)]] });
    screen.request({ ...request, target: `/${"y".repeat(500)}` });
    screen.close();
    for (const line of stripVTControlCharacters(drawings[0] ?? "").split("\n")) assert(line.length <= 61, line);
  });

  it("shows the last requests, newest first", () => {
    for (let count = 1; count <= 30; count += 1) screen.request({ ...request, target: `/${count}` });
    screen.close();
    const targets = [...(drawings[0] ?? "").matchAll(/GET +\/(\d+)/g)].map((match) => Number(match[1]));
    assert.deepEqual(targets, [30, 29, 28, 27, 26, 25, 24, 23, 22, 21]);
  });
});
