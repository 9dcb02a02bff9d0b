/** Loaded before an agent (`--import`). Its wall clock is ahead by the hours in the file POSTERN_TEST_HOURS. */
import { readFileSync } from "node:fs";

const { now } = Date;
const path = process.env["POSTERN_TEST_HOURS"] ?? "";
let aheadMs = 0;

setInterval(() => (aheadMs = Number(readFileSync(path, "utf8")) * 3_600_000), 50).unref();
Date.now = () => now() + aheadMs;
