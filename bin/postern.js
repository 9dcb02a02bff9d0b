#!/usr/bin/env node
import { launch } from "./launch.js";

await launch("src/main.ts", process.argv.slice(2));
