export { nearest } from "../../lib/nearest.ts";
