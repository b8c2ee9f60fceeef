/** The screen Retention. */
import { Empty } from "../../parts/states.js";
import { Bar } from "../../shell/bar.js";

export default function Retention() {
  return (
    <>
      <Bar title="Retention" />
      <Empty title="Not built yet" />
    </>
  );
}
