/** The screen Settings. */
import { Empty } from "../../parts/states.js";
import { Bar } from "../../shell/bar.js";

export default function Settings() {
  return (
    <>
      <Bar title="Settings" />
      <Empty title="Not built yet" />
    </>
  );
}
