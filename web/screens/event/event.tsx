/** The screen Event. */
import { Empty } from "../../parts/states.js";
import { Bar } from "../../shell/bar.js";

export default function Event() {
  return (
    <>
      <Bar title="Event" />
      <Empty title="Not built yet" />
    </>
  );
}
