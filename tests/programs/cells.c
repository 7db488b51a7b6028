/* The same networks that gatecalc simulates, written as a C programmer would: three cells, random weights of size 0.1
   or 0.2, a one and then zeros. Prints the GRU's state at each step, and the mean norm of each cell's last state.
   RAND=1 takes the generator of Microsoft's runtime, otherwise the system's own. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#if RAND == 1
static uint32_t state;
static void seed(unsigned s) { state = s; }
static int draw(void) { state = state * 214013u + 2531011u; return (state >> 16) & 0x7fff; }
#define LARGEST 32767
#else
static void seed(unsigned s) { srand(s); }
static int draw(void) { return rand(); }
#define LARGEST RAND_MAX
#endif

#define H 6
static float uniform(float scale, float shift) { return (float)draw() / LARGEST * scale - shift; }
static float gate(float a) { return 1.0f / (1.0f + expf(-a)); }
static float squash(float a) { float e = expf(-2 * a); return (1 - e) / (1 + e); }

static float norm(const float *h)
{
    float squares = 0;
    for (int i = 0; i < H; i++) squares += h[i] * h[i];
    return sqrtf(squares);
}

static float plain(int steps)
{
    float w[H], u[H][H], h[H] = {0}, next[H];
    for (int i = 0; i < H; i++) {
        w[i] = uniform(0.4f, 0.2f);
        for (int j = 0; j < H; j++) u[i][j] = uniform(0.4f, 0.2f);
    }
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < H; i++) {
            float a = 0.0f + w[i] * (t == 0);
            for (int j = 0; j < H; j++) a += u[i][j] * h[j];
            next[i] = squash(a);
        }
        for (int i = 0; i < H; i++) h[i] = next[i];
    }
    return norm(h);
}

static float gru(int steps, int print)
{
    float wz[H], wr[H], wn[H], uz[H][H], ur[H][H], un[H][H], h[H] = {0}, next[H];
    for (int i = 0; i < H; i++) {
        wz[i] = uniform(0.2f, 0.1f); wr[i] = uniform(0.2f, 0.1f); wn[i] = uniform(0.2f, 0.1f);
        for (int j = 0; j < H; j++) {
            uz[i][j] = uniform(0.2f, 0.1f); ur[i][j] = uniform(0.2f, 0.1f); un[i][j] = uniform(0.2f, 0.1f);
        }
    }
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < H; i++) {
            float az = 0.0f + wz[i] * (t == 0), ar = 0.0f + wr[i] * (t == 0), an = 0.0f + wn[i] * (t == 0);
            for (int j = 0; j < H; j++) { az += uz[i][j] * h[j]; ar += ur[i][j] * h[j]; }
            float z = gate(az), r = gate(ar);
            for (int j = 0; j < H; j++) an += un[i][j] * (r * h[j]);
            next[i] = z * h[i] + (1 - z) * squash(an);
        }
        for (int i = 0; i < H; i++) h[i] = next[i];
        if (print) for (int i = 0; i < H; i++) printf("%.9e%c", h[i], i == H - 1 ? '\n' : ' ');
    }
    return norm(h);
}

static float lstm(int steps)
{
    float w[4][H], u[4][H][H], h[H] = {0}, c[H] = {0}, nh[H], nc[H];
    for (int g = 0; g < 4; g++) for (int i = 0; i < H; i++) {
        w[g][i] = uniform(0.2f, 0.1f);
        for (int j = 0; j < H; j++) u[g][i][j] = uniform(0.2f, 0.1f);
    }
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < H; i++) {
            float a[4];
            for (int g = 0; g < 4; g++) {
                a[g] = (g == 0 ? 1.0f : 0.0f) + w[g][i] * (t == 0);
                for (int j = 0; j < H; j++) a[g] += u[g][i][j] * h[j];
            }
            nc[i] = gate(a[0]) * c[i] + gate(a[1]) * squash(a[3]);
            nh[i] = gate(a[2]) * squash(nc[i]);
        }
        for (int i = 0; i < H; i++) { h[i] = nh[i]; c[i] = nc[i]; }
    }
    return norm(h);
}

int main(void)
{
    seed(42);
    gru(9, 1);
    for (int steps = 3; steps <= 24; steps *= 2) {
        float sums[3] = {0};
        for (int run = 0; run < 7; run++) {
            seed(42 + run); sums[0] += plain(steps);
            seed(42 + run); sums[1] += gru(steps, 0);
            seed(42 + run); sums[2] += lstm(steps);
        }
        printf("%.9e %.9e %.9e\n", sums[0] / 7, sums[1] / 7, sums[2] / 7);
    }
    return 0;
}
