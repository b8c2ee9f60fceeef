/** `npm run import -- file.csv …`: see ops/import/command.ts and docs/import.md. */
import { importCommand } from "./import/command.js";

process.exitCode = await importCommand(process.argv.slice(2), (line) => {
  process.stdout.write(`${line}\n`);
});
