import java.io.InputStream;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/**
 * Frames that come and go by every way there is, one stack much like the next. The methods whose
 * names begin with "slow" are for the interpreter (see the test's -XX:CompileCommand).
 */
public class Activations {
    static long sink;

    static int spin(int rounds) {
        int sum = 1;
        for (int i = 0; i < rounds; i++) {
            sum = sum * 31 + i;
        }
        sink += sum;
        return sum;
    }

    // ---- the same work from callers whose frames are alike

    /** Public for a class that another loader has loaded. */
    public static int left(int depth) {
        return depth == 0 ? spin(300) : left(depth - 1) + 1;
    }

    static int right(int depth) {
        return depth == 0 ? spin(300) : right(depth - 1) + 2;
    }

    static int crossing(int depth) {
        if (depth == 0) {
            return spin(300);
        }
        return (depth & 1) == 0 ? crossing(depth - 1) + 1 : crossing(depth - 2 < 0 ? 0 : depth - 2);
    }

    static int slow(int depth) {
        return depth == 0 ? spin(300) : quick(depth - 1) + spin(20);
    }

    static int quick(int depth) {
        return depth == 0 ? spin(300) : slow(depth - 1) + spin(20);
    }

    static int slowTwice(int depth) {
        int first = left(depth);
        return first + left(depth);
    }

    // ---- frames left by exceptions

    @SuppressWarnings("serial")
    static final class Thrown extends RuntimeException {
        Thrown() {
            super(null, null, false, false);
        }
    }

    static int throwing(int depth) {
        if (depth == 0) {
            spin(200);
            throw new Thrown();
        }
        return throwing(depth - 1) + 1;
    }

    static int catching(int depth) {
        try {
            return throwing(depth);
        } catch (Thrown thrown) {
            return spin(200);
        }
    }

    // ---- code that is thrown away: what it took for granted does not hold any more

    abstract static class Shape {
        abstract int area(int size);
    }

    static final class Square extends Shape {
        int area(int size) {
            return spin(size);
        }
    }

    static final class Circle extends Shape {
        int area(int size) {
            return spin(size) * 3;
        }
    }

    static Shape shape = new Square();

    static int areas(int count) {
        int sum = 0;
        for (int i = 0; i < count; i++) {
            sum += shape.area(40);
        }
        return sum;
    }

    static int rarely(int round) {
        return round % 20_011 == 0 ? slow(3) : spin(200);
    }

    // ---- through the VM and back

    /** Works when it is initialised, which the VM asks for. */
    static final class Initialised {
        static int value = left(6);
    }

    static byte[] bytes;

    static int initialised() throws Exception {
        try (InputStream in = Activations.class.getResourceAsStream("Activations$Initialised.class")) {
            bytes = bytes == null ? in.readAllBytes() : bytes;
        }
        Class<?> made = new ClassLoader(Activations.class.getClassLoader()) {
            @Override
            protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
                return name.endsWith("$Initialised")
                        ? defineClass(name, bytes, 0, bytes.length)
                        : super.loadClass(name, resolve);
            }
        }.loadClass("Activations$Initialised");
        var field = Class.forName(made.getName(), true, made.getClassLoader()).getDeclaredField("value");
        field.setAccessible(true);
        return spin(100);
    }

    static int reflected(Method method, int depth) throws Exception {
        return (int) method.invoke(null, depth);
    }

    // ---- compiled into one another

    static int piped(int many) {
        IntUnaryOperator twice = x -> x * 2;
        return IntStream.range(0, many)
                .map(twice.andThen(x -> x + 1).andThen(x -> x ^ 5))
                .filter(x -> x % 3 != 0)
                .map(x -> spin(20) + x)
                .sum();
    }

    static int sorted(Integer[] numbers) {
        Integer[] copy = numbers.clone();
        Arrays.sort(copy, (a, b) -> Integer.compare(a * 7919 % 1009, b * 7919 % 1009));
        return copy[0];
    }

    static void round(int round, Method method, Integer[] numbers) throws Exception {
        int depth = round % 23;
        left(depth);
        right(depth);
        crossing(depth);
        slow(depth % 7);
        slowTwice(depth);
        catching(depth);
        shape = round / 5000 % 2 == 0 ? new Square() : new Circle();
        areas(10);
        rarely(round);
        reflected(method, depth);
        piped(20);
        sorted(numbers);
        if (round % 50 == 0) {
            initialised();
        }
        if (round % 4000 == 0) {
            System.gc();
        }
    }

    static void rounds(long end) {
        try {
            Method method = Activations.class.getDeclaredMethod("left", int.class);
            Integer[] numbers = IntStream.range(0, 60).boxed().toArray(Integer[]::new);
            for (int round = 0; System.nanoTime() < end; round++) {
                round(round, method, numbers);
            }
        } catch (Exception problem) {
            throw new AssertionError(problem);
        }
    }

    public static void main(String[] arguments) throws Exception {
        long end = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
        List<Thread> threads = new ArrayList<>();
        threads.add(new Thread(() -> rounds(end)));
        threads.get(0).start();
        try { // from 21 on
            Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
            for (int i = 0; i < 3; i++) {
                Runnable work = () -> {
                    while (System.nanoTime() < end) {
                        left(9);
                        slow(4);
                        Thread.yield();
                    }
                };
                threads.add((Thread) start.invoke(null, work));
            }
        } catch (NoSuchMethodException none) {
            spin(1);
        }
        while (System.nanoTime() < end) { // threads whose stacks lie where others have lain
            Thread brief = new Thread(() -> rounds(System.nanoTime() + 20_000_000));
            brief.start();
            brief.join();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("done");
    }
}
