/** The screen Why. */
import { Empty } from "../../parts/states.js";
import { Bar } from "../../shell/bar.js";

export default function Why() {
  return (
    <>
      <Bar title="Why" />
      <Empty title="Not built yet" />
    </>
  );
}
