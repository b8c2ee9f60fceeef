/** Processor time of processes and all they started, as `ps` reports it. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { promisify } from "node:util";

/**
 * @param pids by name
 * @returns seconds by name, whole ones
 */
export async function processorSeconds(
  pids: Readonly<Record<string, number>>,
): Promise<Record<string, number>> {
  const { stdout } = await promisify(execFile)("ps", ["-e", "-o", "pid=,ppid=,cputimes="]);
  const all = stdout
    .trim()
    .split("\n")
    .map((line) => {
      const [pid = 0, parent = 0, seconds = 0] = line.trim().split(/\s+/).map(Number);
      return { pid, parent, seconds };
    });
  const secondsOf = (pid: number): number => {
    const own = all.find((one) => one.pid === pid)?.seconds ?? 0;
    const children = all.filter(({ parent }) => parent === pid);
    return children.reduce((sum, child) => sum + secondsOf(child.pid), own);
  };
  return Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, secondsOf(pid)]));
}

/**
 * ms that the main thread of a process has run, on Linux: what its event loop was taken for,
 * however many others want the processors. NaN elsewhere.
 */
export function mainThreadMs(pid: number): number {
  const path = `/proc/${pid}/task/${pid}/stat`;
  if (!existsSync(path)) return Number.NaN;
  // Behind the name, which may hold spaces: state first, and the two times eleven fields later.
  const fields = readFileSync(path, "utf8").split(") ")[1]?.split(" ") ?? [];
  return [11, 12].map((at) => Number(fields[at])).reduce((sum, each) => sum + each, 0) * tickMs;
}

/** Of the kernel's clock for processes (`getconf CLK_TCK`), the same on all common systems. */
const tickMs = 10;
