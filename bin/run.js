// `node bin/run.js FILE …`: runs a program of the checkout, set up first, on the pinned Node.
import { launch } from "./launch.js";

const [program, ...args] = process.argv.slice(2);
await launch(program ?? "src/main.ts", args);
