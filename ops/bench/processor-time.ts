/** Processor time of processes and all they started, as `ps` reports it. */
import { execFile } from "node:child_process";
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
