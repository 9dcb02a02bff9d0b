// What launch.js starts on the pinned Node: the program and its arguments.
import { here } from "./launch.js";

const [program, ...args] = process.argv.slice(2);
await here(program ?? "src/main.ts", args);
