/** Chart.js with only the parts that are used, and four small plugins of our own. */
import {
  BarController,
  BarElement,
  Chart,
  Filler,
  LinearScale,
  LineController,
  LineElement,
  LogarithmicScale,
  PointElement,
  Tooltip,
  type ChartType,
  type Plugin,
} from 'chart.js'
import annotation from 'chartjs-plugin-annotation'
import zoom from 'chartjs-plugin-zoom'
import type { ChartColours } from './colours.svelte'

Chart.register(
  BarController,
  BarElement,
  LineController,
  LineElement,
  PointElement,
  LinearScale,
  LogarithmicScale,
  Filler,
  Tooltip,
  annotation,
  zoom,
)
Chart.defaults.animation = false
Chart.defaults.normalized = true
Chart.defaults.parsing = false

declare module 'chart.js' {
  interface PluginOptionsByType<TType extends ChartType> {
    endLabels: { show: boolean; font: string; entries: readonly { text: string; color: string; dataset: number }[] }
    whiskers: { sets: readonly { color: string; points: readonly { x: number; low: number; high: number }[] }[] }
    crosshair: { color: string; own?: TType }
  }
}

/** Names at the right end of their lines, pushed apart where they would overlap. */
const endLabels: Plugin<'line'> = {
  id: 'endLabels',
  afterDatasetsDraw(chart, _args, raw) {
    const options = raw as {
      show?: boolean
      font: string
      entries: readonly { text: string; color: string; dataset: number }[]
    }
    if (!options.show) return
    const { ctx, chartArea } = chart
    const lineHeight = 13
    const labels = options.entries
      .flatMap((entry) => {
        const points = chart.getDatasetMeta(entry.dataset).data as PointElement[]
        const last = points.findLast((point) => !point.skip && point.x <= chartArea.right + 1)
        return last ? [{ ...entry, x: chartArea.right + 6, y: last.y }] : []
      })
      .sort((a, b) => a.y - b.y)
    if (labels[0]) labels[0].y = Math.max(labels[0].y, chartArea.top + 4)
    for (let i = 1; i < labels.length; i += 1) labels[i].y = Math.max(labels[i].y, labels[i - 1].y + lineHeight)
    // Down from the top first, then up from the bottom, so that none leaves the plot.
    let floor = chartArea.bottom + 4
    for (const label of labels.toReversed()) {
      label.y = Math.min(label.y, floor)
      floor = label.y - lineHeight
    }
    ctx.save()
    ctx.font = options.font
    ctx.textBaseline = 'middle'
    for (const label of labels) {
      ctx.fillStyle = label.color
      ctx.fillText(label.text, label.x, label.y)
    }
    ctx.restore()
  },
}

/** Intervals as vertical lines with caps. */
const whiskers: Plugin<'line'> = {
  id: 'whiskers',
  beforeDatasetsDraw(chart, _args, raw) {
    const options = raw as {
      sets?: readonly { color: string; points: readonly { x: number; low: number; high: number }[] }[]
    }
    const { ctx, scales } = chart
    ctx.save()
    ctx.lineWidth = 1.25
    for (const set of options.sets ?? []) {
      ctx.strokeStyle = set.color
      ctx.beginPath()
      for (const point of set.points) {
        const x = scales.x.getPixelForValue(point.x)
        const low = scales.y.getPixelForValue(point.low)
        const high = scales.y.getPixelForValue(point.high)
        ctx.moveTo(x, low)
        ctx.lineTo(x, high)
        ctx.moveTo(x - 4, low)
        ctx.lineTo(x + 4, low)
        ctx.moveTo(x - 4, high)
        ctx.lineTo(x + 4, high)
      }
      ctx.stroke()
    }
    ctx.restore()
  },
}

/** A hairline at the step whose values are told. */
const crosshair: Plugin<'line'> = {
  id: 'crosshair',
  beforeDatasetsDraw(chart, _args, raw) {
    const active = chart.getActiveElements()[0]
    if (!active) return
    const { ctx, chartArea } = chart
    ctx.save()
    ctx.strokeStyle = (raw as { color: string }).color
    ctx.lineWidth = 1
    ctx.beginPath()
    ctx.moveTo(active.element.x, chartArea.top)
    ctx.lineTo(active.element.x, chartArea.bottom)
    ctx.stroke()
    ctx.restore()
  },
}

/** A dot for a value with gaps on both sides, which no line would show. */
const lonePoints: Plugin<'line'> = {
  id: 'lonePoints',
  afterDatasetsDraw(chart) {
    const { ctx, scales, chartArea } = chart
    ctx.save()
    for (const dataset of chart.data.datasets) {
      if (dataset.pointRadius !== 0) continue
      const points = dataset.data as readonly { x: number; y: number | null }[]
      ctx.fillStyle = dataset.borderColor as string
      points.forEach(({ x, y }, at) => {
        if (y === null || (points[at - 1]?.y ?? null) !== null || (points[at + 1]?.y ?? null) !== null) return
        const left = scales.x.getPixelForValue(x)
        if (left < chartArea.left - 1 || left > chartArea.right + 1) return
        ctx.beginPath()
        ctx.arc(left, scales.y.getPixelForValue(y), 2, 0, 2 * Math.PI)
        ctx.fill()
      })
    }
    ctx.restore()
  },
}

Chart.register(lonePoints, endLabels, whiskers, crosshair)

/** Tooltip, grid and fonts in the app's own look. */
export function chartLook(colours: ChartColours) {
  const font = { family: colours.font, size: 11 }
  return {
    font,
    grid: { color: colours.grid, drawTicks: false, tickLength: 0 },
    border: { color: colours.line },
    ticks: { color: colours.quiet, font, padding: 6, maxRotation: 0, autoSkipPadding: 16 },
    tooltip: {
      backgroundColor: colours.tooltip,
      titleColor: colours.tooltipText,
      bodyColor: colours.tooltipText,
      titleFont: { ...font, weight: 'bold' as const },
      bodyFont: font,
      padding: 8,
      cornerRadius: 4,
      boxWidth: 8,
      boxHeight: 8,
      boxPadding: 4,
      caretSize: 0,
      usePointStyle: false,
    },
  }
}

export { Chart }
